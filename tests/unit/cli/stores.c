/* phx image and phx package on real directories, with real keys: what is made,
 * refused, listed and removed. Only phxd is a fake. */
#include "fake/phxd.h"

#include "pki/pki.h"

/* A configuration whose head lies in the fake's directory, with the site's keys. */
static int head_setup(void **state)
{
	struct phx_err err = {0};
	struct phx_pki *pki = NULL;
	char text[1024], path[160];
	fake_setup(state);
	struct fake_phxd *f = *state;
	snprintf(text, sizeof(text),
		 "state_dir = \"%s\"; run_dir = \"%s\"; address = \"127.0.0.1\"; dhcp_mode = "
		 "\"none\"; tftp = "
		 "\"none\";\n",
		 f->dir, f->dir);
	snprintf(path, sizeof(path), "%s/phoenix.conf", f->dir);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, NULL), 0);
	setenv("PHX_CONFIG", path, 1);
	snprintf(path, sizeof(path), "%s/pki", f->dir);
	static const char *const names[] = {"127.0.0.1"};
	if (phx_pki_open(path, names, 1, &pki, &err) < 0)
		fail_msg("%s", err.text);
	phx_pki_free(pki);
	/* the key that packages are signed with is elsewhere; its public half is believed here */
	PHX_AUTO_FREE char *key = phx_path("%s/away/package.key", f->dir), *pub = NULL;
	setenv("PHX_SIGN_KEY", key, 1);
	snprintf(path, sizeof(path), "%s/package-keys", f->dir);
	assert_int_equal(phx_dir_make(path, 0755, NULL), 0);
	return 0;
}

static struct phx_said __attribute__((format(printf, 2, 3)))
run(struct fake_phxd *f, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return phx(f, line);
}

static void __attribute__((format(printf, 3, 4)))
put(struct fake_phxd *f, const char *text, const char *fmt, ...)
{
	char path[512], name[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(phx_dir_make(path, 0755, NULL), 0);
	path[strlen(path)] = '/';
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, NULL), 0);
}

#define RELOADED "{'roles':0,'images':0,'packages':0,'errors':[]}"

/* ---- packages ---- */

static void build(struct fake_phxd *f, const char *version)
{
	char manifest[200];
	snprintf(manifest, sizeof(manifest),
		 "name = \"tool\";\nversion = \"%s\";\narch = \"all\";\nsummary = \"a tool\";\n",
		 version);
	put(f, manifest, "src/package.conf");
	put(f, "#!/bin/sh\n", "src/files/bin/tool");
	PHX_SAID s = run(f, "package build %s/src --out %s --unsigned", f->dir, f->dir);
	if (s.status != 0)
		fail_msg("%s", s.errout);
}

static void a_key_is_made_and_believed(void **state)
{
	struct fake_phxd *f = *state;
	char line[300];
	fake_answer(f, "POST /v1/reload", RELOADED);
	PHX_SAID none = run(f, "package build %s/src --out %s", f->dir, f->dir);
	assert_int_equal(none.status, 78);
	assert_has(none.errout, "phx package key new");
	PHX_SAID made = run(f, "package key new %s/away/package.key", f->dir);
	assert_int_equal(made.status, 0);
	snprintf(line, sizeof(line), "%s/away/package.pub\n", f->dir);
	assert_has(made.out, line);
	PHX_SAID again = run(f, "package key new %s/away/package.key", f->dir);
	assert_int_not_equal(again.status, 0);
	assert_has(again.errout, "a key is never overwritten");
	PHX_SAID private = run(f, "package key add %s/away/package.key", f->dir);
	assert_int_not_equal(private.status, 0);
	assert_has(private.errout, "not an Ed25519 public key");
	PHX_SAID added = run(f, "package key add %s/away/package.pub builder", f->dir);
	assert_int_equal(added.status, 0);
	assert_has(added.out, "builder sha256:");
	assert_has(f->log, "POST /v1/reload");
	PHX_SAID twice = run(f, "package key add %s/away/package.pub builder", f->dir);
	assert_int_not_equal(twice.status, 0);
	assert_has(twice.errout, "give the key another name");
	PHX_SAID second = run(f, "package key add %s/away/package.pub", f->dir);
	assert_int_equal(second.status, 0);
	assert_has(second.out, "package sha256:");
	PHX_SAID list = run(f, "package key list");
	assert_has(list.out, "builder");
	PHX_SAID asked = run(f, "package key rm package");
	assert_int_equal(asked.status, 64);
	PHX_SAID gone = run(f, "package key rm package --yes");
	assert_int_equal(gone.status, 0);
	PHX_SAID nobody = run(f, "package key rm package --yes");
	assert_int_equal(nobody.status, 64);
	assert_has(nobody.errout, "there is no key 'package'");
	PHX_SAID left = run(f, "package key list -o name");
	assert_string_equal(left.out, "builder\n");
}

static void the_keys_of_a_site_are_shown(void **state)
{
	struct fake_phxd *f = *state;
	char id[PHX_FINGERPRINT_MAX], path[160];
	PHX_SAID show = run(f, "pki show");
	assert_int_equal(show.status, 0);
	snprintf(path, sizeof(path), "%s/pki/attest.pub", f->dir);
	assert_int_equal(phx_pub_fingerprint(path, id, NULL), 0);
	assert_has(show.out, id);
	assert_has(show.out, "builder  packages and images");
	PHX_SAID names = run(f, "pki show -o name");
	assert_string_equal(names.out, "ca\nserver\nsite\nattest\nbuilder\n");
	PHX_SAID json = run(f, "pki show -o json");
	assert_has(json.out, "\"until\": \"no end\"");
}

/* Without --unsigned it is signed, with the key of whoever builds where none is named, or not built
 * at all; the site's own key is believed no more. */
static void a_built_package_is_signed(void **state)
{
	struct fake_phxd *f = *state;
	char path[160];
	build(f, "0.9");
	snprintf(path, sizeof(path), "%s/tool-0.9.tar.zst", f->dir);
	PHX_SAID before = run(f, "package verify %s", path);
	assert_int_equal(before.status, 1);
	assert_int_equal(unlink(path), 0);
	PHX_SAID none = run(f, "package build %s/src --out %s --sign-key %s/nosuch.key", f->dir,
			    f->dir, f->dir);
	assert_int_equal(none.status, 78);
	assert_has(none.errout,
		   "nosuch.key: No such file or directory; make a key (phx package key");
	assert_int_equal(access(path, F_OK), -1);
	PHX_SAID both = run(f, "package build %s/src --unsigned --sign-key %s/pki/site.key", f->dir,
			    f->dir);
	assert_int_equal(both.status, 64);
	PHX_SAID site = run(f, "package build %s/src --out %s --sign-key %s/pki/site.key", f->dir,
			    f->dir, f->dir);
	assert_int_equal(site.status, 0);
	PHX_SAID untrue = run(f, "package verify %s", path);
	assert_int_equal(untrue.status, 1);
	assert_has(untrue.errout, "not signed by a key of");
	PHX_SAID made = run(f, "package build %s/src --out %s", f->dir, f->dir);
	assert_int_equal(made.status, 0);
	PHX_SAID after = run(f, "package verify %s", path);
	assert_int_equal(after.status, 0);
	assert_has(after.out, "signed by key builder");
}

static void a_package_from_source_to_repository(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/reload", RELOADED);
	build(f, "1.0");
	PHX_SAID unsigned_push = run(f, "package push %s/tool-1.0.tar.zst", f->dir);
	assert_int_equal(unsigned_push.status, 1);
	assert_lacks(f->log, "reload");
	PHX_SAID sign = run(f, "package sign %s/tool-1.0.tar.zst", f->dir);
	assert_int_equal(sign.status, 0);
	PHX_SAID verify = run(f, "package verify %s/tool-1.0.tar.zst", f->dir);
	assert_int_equal(verify.status, 0);
	assert_has(verify.out, "tool-1.0, ");
	PHX_SAID push = run(f, "package push %s/tool-1.0.tar.zst", f->dir);
	assert_int_equal(push.status, 0);
	assert_string_equal(push.out, "tool-1.0\n");
	assert_has(f->log, "POST /v1/reload");
	PHX_SAID again = run(f, "package push %s/tool-1.0.tar.zst", f->dir);
	assert_int_equal(again.status, 0);
	PHX_SAID list = run(f, "package list --dir %s/packages", f->dir);
	assert_has(list.out, "tool     1.0      all");
	assert_has(list.out, "a tool");
}

/* What else is wrong with the catalogue was so before, and is no failure of the push. */
static void a_push_is_done_whatever_else_is_wrong(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(
		f, "POST /v1/reload",
		"{'roles':1,'images':0,'packages':1,'errors':['web.conf:3: there is no image x']}");
	build(f, "1.0");
	PHX_SAID sign = run(f, "package sign %s/tool-1.0.tar.zst", f->dir);
	assert_int_equal(sign.status, 0);
	PHX_SAID push = run(f, "package push %s/tool-1.0.tar.zst", f->dir);
	assert_int_equal(push.status, 0);
	assert_string_equal(push.out, "tool-1.0\n");
	assert_has(push.errout, "phx: warning: web.conf:3: there is no image x\n");
	PHX_SAID json = run(f, "package push -o json %s/tool-1.0.tar.zst", f->dir);
	assert_int_equal(json.status, 0);
	assert_has(json.out, "\"sha256\"");
	assert_lacks(json.out, "roles");
	assert_has(json.errout, "warning");
	f->answers[0].status = 503;
	PHX_SAID untold = run(f, "package push %s/tool-1.0.tar.zst", f->dir);
	assert_int_not_equal(untold.status, 0);
}

static void a_package_that_differs_under_one_version_is_refused(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/reload", RELOADED);
	put(f, "another file\n", "src/files/bin/more");
	build(f, "1.0");
	PHX_SAID sign = run(f, "package sign %s/tool-1.0.tar.zst", f->dir);
	assert_int_equal(sign.status, 0);
	PHX_SAID push = run(f, "package push %s/tool-1.0.tar.zst", f->dir);
	assert_int_not_equal(push.status, 0);
	assert_string_equal(push.out, "");
}

static void a_damaged_package_is_told(void **state)
{
	struct fake_phxd *f = *state;
	char path[160];
	build(f, "2.0");
	PHX_SAID sign = run(f, "package sign %s/tool-2.0.tar.zst", f->dir);
	assert_int_equal(sign.status, 0);
	snprintf(path, sizeof(path), "%s/tool-2.0.tar.zst", f->dir);
	assert_int_equal(truncate(path, 100), 0);
	PHX_SAID verify = run(f, "package verify %s", path);
	assert_int_equal(verify.status, 1);
	assert_string_equal(verify.out, "");
	PHX_SAID push = run(f, "package push %s", path);
	assert_int_equal(push.status, 1);
	PHX_SAID none = run(f, "package verify %s/none", f->dir);
	assert_int_equal(none.status, 1);
	PHX_SAID bad_source = run(f, "package build %s/pki", f->dir);
	assert_int_not_equal(bad_source.status, 0);
}

static void a_package_is_removed_only_when_no_role_has_it(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/roles",
		    "{'roles':[{'name':'web','packages':[{'name':'tool','version':'1.0'}]}]}");
	PHX_SAID used = run(f, "package rm tool-1.0 --yes");
	assert_int_equal(used.status, 64);
	assert_has(used.errout, "tool-1.0 is a package of role web");
	fake_reset(f);
	fake_answer(f, "GET /v1/roles", "{'roles':[]}");
	fake_answer(f, "POST /v1/reload", RELOADED);
	PHX_SAID asked = run(f, "package rm tool-1.0");
	assert_int_equal(asked.status, 64);
	assert_has(asked.errout, "--yes");
	PHX_SAID gone = run(f, "package rm tool-1.0 --yes");
	assert_int_equal(gone.status, 0);
	PHX_SAID list = run(f, "package list --dir %s/packages -o name", f->dir);
	assert_string_equal(list.out, "");
	PHX_SAID again = run(f, "package rm tool-1.0 --yes");
	assert_int_equal(again.status, 0);
	PHX_SAID no_version = run(f, "package rm tool --yes");
	assert_int_equal(no_version.status, 64);
}

static void push_over_ssh_wants_the_agents_package(void **state)
{
	struct fake_phxd *f = *state;
	build(f, "3.0");
	PHX_SAID sign = run(f, "package sign %s/tool-3.0.tar.zst", f->dir);
	assert_int_equal(sign.status, 0);
	PHX_SAID s = run(f, "package push 127.0.0.1 %s/tool-3.0.tar.zst", f->dir);
	assert_int_equal(s.status, 64);
	assert_has(s.errout, "is not the agent's package (bin/phx-agent is missing)");
	PHX_SAID none = run(f, "package push 127.0.0.1 nosuch");
	assert_int_equal(none.status, 64);
	assert_has(none.errout, "'nosuch' is neither a file nor a package of the repository");
}

/* ---- images ---- */

/* A recipe that makes a valid image without Debian. */
static void recipe(struct fake_phxd *f, const char *script)
{
	char path[160];
	put(f,
	    "name = \"tiny\";\nversion = \"1\";\nkind = \"initramfs\";\narchitecture = "
	    "\"amd64\";\n",
	    "tiny/image.conf");
	put(f, script, "tiny/build");
	snprintf(path, sizeof(path), "%s/tiny/build", f->dir);
	assert_int_equal(chmod(path, 0755), 0);
}

static const char good_recipe[] =
	"#!/bin/bash\nset -e\ncd \"$1\"; echo said while building; echo kernel >vmlinuz; echo "
	"initrd | zstd -q "
	">initrd.zst\n"
	"entry() { printf '{ name = \"%s\"; size = %dL; sha256 = \"%s\"; raw_size = %dL; }' $1 "
	"$(stat -c %s $1) "
	"$(sha256sum <$1 | cut -d' ' -f1) $2; }\n"
	"{ echo 'name = \"tiny\"; version = \"1\"; kind = \"initramfs\"; architecture = \"amd64\"; "
	"kernel_release = \"6.1\";'; echo \"files = ( $(entry vmlinuz 0), $(entry initrd.zst 7) "
	");\"; } "
	">manifest.conf\n";

static void an_image_from_recipe_to_store(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/reload", RELOADED);
	recipe(f, good_recipe);
	PHX_SAID build_it = run(f, "image build %s/tiny", f->dir);
	if (build_it.status != 0)
		fail_msg("%s", build_it.errout);
	assert_string_equal(build_it.out, "tiny 1\n");
	assert_has(build_it.errout, "said while building");
	PHX_SAID of = run(f, "image show tiny -o json --dir %s/images --pub %s/package-keys",
			  f->dir, f->dir);
	assert_has(of.out, "\"signed_by\": \"builder\"");
	char made[160];
	snprintf(made, sizeof(made), "%s/made", f->dir);
	assert_int_equal(phx_dir_make(made, 0755, NULL), 0);
	PHX_SAID away = run(f, "image build %s/tiny --out %s/made", f->dir, f->dir);
	assert_int_equal(away.status, 0);
	PHX_SAID sign = run(f, "image sign %s --sign-key %s/pki/site.key", made, f->dir);
	assert_int_equal(sign.status, 0);
	assert_has(sign.out, "tiny 1\n");
	PHX_SAID added = run(f, "image add %s/made", f->dir);
	assert_int_equal(added.status, 0);
	PHX_SAID strange =
		run(f, "image list --dir %s/images --pub %s/package-keys", f->dir, f->dir);
	assert_int_equal(strange.status, 1);
	assert_has(strange.errout, "image tiny 1 was altered, or is not signed by a key of");
	assert_has(f->log, "POST /v1/reload");
	PHX_SAID again = run(f, "image build %s/tiny", f->dir);
	assert_int_equal(again.status, 0);
	PHX_SAID list = run(f, "image list --dir %s/images", f->dir);
	assert_has(list.out, "tiny   1        initramfs  amd64");
	PHX_SAID show = run(f, "image show tiny --dir %s/images", f->dir);
	assert_has(show.out, "  Kernel       6.1\n");
	assert_has(show.out, "initrd.zst");
	PHX_SAID verify = run(f, "image verify");
	assert_int_equal(verify.status, 0);
	assert_has(verify.out, "tiny 1: every digest is right\n");
}

static void a_version_may_be_given_to_a_recipe(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/reload", RELOADED);
	recipe(f, good_recipe);
	PHX_SAID deaf = run(f, "image build %s/tiny --image-version 2", f->dir);
	assert_int_equal(deaf.status, 78);
	assert_has(deaf.errout, "tiny/build made version 1: it does not ask PHX_IMAGE_VERSION");
	assert_string_equal(deaf.out, "");
	PHX_AUTO_FREE char *script =
		phx_path("%s\nsed -i \"s/version = .1./version = \\\"$PHX_IMAGE_VERSION\\\"/\" "
			 "manifest.conf\n",
			 good_recipe);
	recipe(f, script);
	PHX_SAID newer = run(f, "image build %s/tiny --image-version 0.2.0", f->dir);
	if (newer.status != 0)
		fail_msg("%s", newer.errout);
	assert_string_equal(newer.out, "tiny 0.2.0\n");
	PHX_SAID odd = run(f, "image build %s/tiny --image-version ../x", f->dir);
	assert_int_not_equal(odd.status, 0);
	assert_has(odd.errout, "../x");
}

static void a_recipe_that_fails_adds_nothing(void **state)
{
	struct fake_phxd *f = *state;
	recipe(f, "#!/bin/sh\necho no space >&2\nexit 3\n");
	PHX_SAID failed = run(f, "image build %s/tiny --dir %s/other", f->dir, f->dir);
	assert_int_equal(failed.status, 1);
	assert_has(failed.errout, "failed with status 3");
	PHX_SAID list = run(f, "image list --dir %s/other -o name", f->dir);
	assert_string_equal(list.out, "");
	PHX_SAID none = run(f, "image build %s/pki", f->dir);
	assert_int_equal(none.status, 78);
	put(f, "name = 5;\n", "tiny/image.conf");
	PHX_SAID bad = run(f, "image build %s/tiny", f->dir);
	assert_int_equal(bad.status, 78);
	assert_has(bad.errout, "image.conf:1");
}

static void a_changed_image_is_found(void **state)
{
	struct fake_phxd *f = *state;
	put(f, "kernfl\n", "images/tiny/1/vmlinuz");
	PHX_SAID verify = run(f, "image verify tiny");
	assert_int_equal(verify.status, 1);
	assert_has(verify.errout, "vmlinuz");
	put(f, "k", "images/tiny/1/vmlinuz");
	PHX_SAID list = run(f, "image list --dir %s/images", f->dir);
	assert_int_equal(list.status, 1);
	assert_has(list.errout, "vmlinuz");
	put(f, "kernel\n", "images/tiny/1/vmlinuz");
	PHX_SAID good = run(f, "image verify tiny");
	assert_int_equal(good.status, 0);
	PHX_SAID unknown = run(f, "image verify tinyy");
	assert_int_equal(unknown.status, 64);
}

static void an_image_is_removed_only_when_no_role_has_it(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/roles", "{'roles':[{'name':'web','image':'tiny'}]}");
	PHX_SAID used = run(f, "image rm tiny --yes");
	assert_int_equal(used.status, 64);
	assert_has(used.errout, "tiny is the image of role web");
	PHX_SAID deploy = run(f, "image rm deploy --yes");
	assert_int_equal(deploy.status, 64);
	fake_reset(f);
	fake_answer(f, "GET /v1/roles", "{'roles':[]}");
	fake_answer(f, "POST /v1/reload", RELOADED);
	PHX_SAID asked = run(f, "image rm tiny");
	assert_int_equal(asked.status, 64);
	PHX_SAID gone = run(f, "image rm tiny --yes");
	assert_int_equal(gone.status, 0);
	PHX_SAID show = run(f, "image show tiny --dir %s/images", f->dir);
	assert_int_equal(show.status, 64);
	PHX_SAID again = run(f, "image rm tiny --yes");
	assert_int_equal(again.status, 0);
	assert_has(again.errout, "is not there");
}

static void import_says_what_it_lacks(void **state)
{
	struct fake_phxd *f = *state;
	put(f, "no tar", "some.tar");
	PHX_SAID name = run(f, "image import %s/some.tar", f->dir);
	assert_int_not_equal(name.status, 0);
	assert_has(name.errout, "it has no name of its own");
	assert_has(name.errout, "--image-name");
	PHX_SAID none = run(f, "image import %s/none.tar --image-name x", f->dir);
	assert_int_not_equal(none.status, 0);
	assert_has(none.errout, "none.tar");
	PHX_SAID size = run(f, "image import %s/none.tar --image-name x --disk-size huge", f->dir);
	assert_int_equal(size.status, 64);
}

#define TEST(name) cmocka_unit_test_teardown(name, fake_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_key_is_made_and_believed),
		TEST(the_keys_of_a_site_are_shown),
		TEST(a_built_package_is_signed),
		TEST(a_package_from_source_to_repository),
		TEST(a_push_is_done_whatever_else_is_wrong),
		TEST(a_package_that_differs_under_one_version_is_refused),
		TEST(a_damaged_package_is_told),
		TEST(a_package_is_removed_only_when_no_role_has_it),
		TEST(push_over_ssh_wants_the_agents_package),
		TEST(an_image_from_recipe_to_store),
		TEST(a_version_may_be_given_to_a_recipe),
		TEST(a_recipe_that_fails_adds_nothing),
		TEST(a_changed_image_is_found),
		TEST(an_image_is_removed_only_when_no_role_has_it),
		TEST(import_says_what_it_lacks),
	};
	return cmocka_run_group_tests(tests, head_setup, fake_teardown);
}
