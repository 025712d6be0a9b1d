/* The catalogue (cmd/phxd/catalog.c): roles, rules, pools and images are read from real files into
 * the real core, over reloads; what is bad is told, and takes nothing away that is in use. */
#include "fake/engine.h"
#include "unit/core/world.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "pki/ring.h"
#include "state/named.h"

/* the site's key is on this head, or not */
static const char *fake_site_key = "none";
static const char *fake_pki_site_pub_pem(const struct phx_pki *p)
{
	(void)p;
	return fake_site_key;
}
#define phx_pki_site_pub_pem fake_pki_site_pub_pem
#include "phxd/catalog.c" /* a part of a program, not of the library */
#undef phx_pki_site_pub_pem

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct world *w;
static struct daemon d;
static char top[64];
static struct phx_err err;
static json_t *errors, *warnings;
static unsigned n_site_files;
static char notice[256], site_keys[4096];
static int submit_result;

/* ---- what of the daemon it calls ---- */

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *why)
{
	(void)e;
	fake_engine_is_free();
	assert_string_equal(ev->by, "test");
	if (submit_result)
		return phx_err_set(why, submit_result, "the journal takes nothing");
	int r = world_apply(w, ev, ret);
	if (r < 0 && why)
		*why = w->err;
	return r;
}
void engine_notice(struct engine *e, const char *re, const char *text)
{
	(void)e;
	(void)re;
	fake_engine_is_free();
	snprintf(notice, sizeof(notice), "%s", text);
}
int net_site_files(struct daemon *of, const char *package_keys, struct phx_err *why)
{
	(void)of;
	(void)why;
	n_site_files++;
	snprintf(site_keys, sizeof(site_keys), "%s", package_keys);
	return 0;
}
int identity_settle(const char *word, const char *known, char ret[PHX_IDENTITY_MAX],
		    struct phx_err *why)
{
	fake_engine_is_free(); /* it asks the user database */
	if (!strcmp(word, "a/b"))
		return phx_err_set(why, -EINVAL, "'a/b' is no name");
	if (known[0])
		return phx_str_copy(ret, PHX_IDENTITY_MAX, known);
	snprintf(ret, PHX_IDENTITY_MAX, "%s%s", strchr(word, ':') ? "" : "unix:", word);
	return 0;
}

/* ---- files ---- */

static void put_file(const char *name, const char *text)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", top, name);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, NULL), 0);
}

static void drop_file(const char *name)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", top, name);
	assert_int_equal(unlink(path), 0);
}

/* An image with that kernel, of one file beside it. */
static void put_image(const char *name, const char *version, bool deploy, const char *kernel)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/images/%s/%s", top, name, version);
	PHX_AUTO_FREE char *text = phx_path(
		"name = \"%s\";\nversion = \"%s\";\nkind = \"%s\";\narchitecture = \"amd64\";\n"
		"kernel_release = \"%s\";\nfiles = ( { name = \"vmlinuz\"; size = 3L; sha256 = "
		"\"" A64 "\"; },\n{ name = \"%s\"; size = 3L; sha256 = \"" A64
		"\"; raw_size = 9L; } );\n",
		name, version, deploy ? "initramfs" : "rootfs", kernel,
		deploy ? "initrd.zst" : "root.ext4.zst");
	static const char *const files[] = {"vmlinuz", "initrd.zst", "root.ext4.zst"};
	assert_int_equal(phx_dir_make(dir, 0755, NULL), 0);
	PHX_AUTO_FREE char *manifest = phx_path("%s/manifest.conf", dir);
	assert_int_equal(phx_file_write(manifest, text, strlen(text), 0644, NULL), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, files[i]);
		assert_int_equal(phx_file_write(path, "abc", 3, 0644, NULL), 0);
	}
}

static void drop_image(const char *name, const char *version)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/images/%s/%s", top, name, version);
	assert_int_equal(phx_dir_remove(dir, NULL), 0);
}

#define ROLE(pool, image) "pool = \"" pool "\";\nimage = \"" image "\";\nboot = \"disk\";\n"

static void put_pool(const char *name, const char *owner)
{
	struct phx_pool *p = phx_list_push(&d.cfg.pools, sizeof(*p));
	PHX_STR_SET(p->name, name);
	PHX_STR_SET(p->owner, owner);
}

static void drop_pools(void)
{
	phx_list_fini(&d.cfg.pools);
}

static int setup(void **state)
{
	w = calloc(1, sizeof(*w));
	*state = w;
	w->now = 1000000;
	assert_int_equal(phx_state_init(&w->s), 0);
	w->s.incarnation = 1;
	w->s.last_step_id = 1 << 16;
	fake_state = &w->s;
	strcpy(top, "/tmp/phx-catalog.XXXXXX");
	assert_non_null(mkdtemp(top));
	d = (struct daemon){.cfg.missing_after_ms = 30000};
	snprintf(d.cfg.role_dir, sizeof(d.cfg.role_dir), "%s/roles", top);
	snprintf(d.cfg.rules_file, sizeof(d.cfg.rules_file), "%s/roles/rules.conf", top);
	snprintf(d.cfg.image_dir, sizeof(d.cfg.image_dir), "%s/images", top);
	snprintf(d.cfg.package_dir, sizeof(d.cfg.package_dir), "%s/packages", top);
	snprintf(d.cfg.package_key_dir, sizeof(d.cfg.package_key_dir), "%s/keys", top);
	snprintf(d.cfg.run_dir, sizeof(d.cfg.run_dir), "%s/run", top);
	PHX_STR_SET(d.cfg.deploy_image, "deploy");
	static const char *const dirs[] = {"roles", "images", "packages", "keys", "run"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", top, dirs[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	put_pool("web", "");
	put_image("debian-12", "1", false, "6.1");
	put_image("deploy", "1", true, "6.1");
	put_file("roles/web.conf", ROLE("web", "debian-12"));
	submit_result = 0;
	n_site_files = 0;
	notice[0] = '\0';
	fake_site_key = "none";
	return 0;
}

static int teardown(void **state)
{
	drop_pools();
	json_decref(d.mistakes);
	json_decref(errors);
	json_decref(warnings);
	errors = warnings = NULL;
	int r = phx_dir_remove(top, NULL);
	return r ? r : world_teardown(state);
}

static int loads(void)
{
	json_decref(errors);
	json_decref(warnings);
	errors = json_array();
	warnings = json_array();
	phx_err_clear(&err);
	int r = catalog_load(&d, "test", errors, warnings, &err);
	fake_engine_is_free();
	return r;
}

static void has_one(const json_t *list, const char *part)
{
	PHX_AUTO_FREE char *text = phx_json_text(list);
	if (json_array_size(list) != 1 || !strstr(text, part))
		fail_msg("%s, and not one with \"%s\"", text, part);
}

static void loads_well(void)
{
	assert_int_equal(loads(), 0);
	PHX_AUTO_FREE char *text = phx_json_text(errors);
	assert_string_equal(text, "[]");
}

static const struct phx_role *role(const char *name)
{
	return phx_state_role(&w->s, name);
}

/* ---- roles ---- */

static void what_is_in_the_files_is_in_the_core(void **state)
{
	(void)state;
	put_pool("guest", "carl");
	put_file("roles/guest.conf", ROLE("guest", "debian-12") "image_version = \"1\";\n");
	put_file("roles/rules.conf",
		 "rules = ( { role = \"web\"; when = [ \"cpus >= 1\" ]; } );\n");
	loads_well();
	assert_int_equal(w->s.roles.n, 2);
	assert_string_equal(role("web")->image_version, "1");
	assert_int_equal(strlen(role("web")->image_digest), 64);
	assert_string_equal(phx_state_pool(&w->s, "guest")->owner, "unix:carl");
	assert_int_equal(w->s.rules.n, 1);
	assert_int_equal(w->s.deploy_used.n, 1);
	assert_int_equal(n_site_files, 1);
	/* again: nothing has changed, nothing is journalled */
	uint64_t seq = w->s.seq;
	loads_well();
	assert_int_equal(w->s.seq, seq);
}

static void a_newer_image_is_taken_by_a_reload(void **state)
{
	(void)state;
	loads_well();
	put_image("debian-12", "2", false, "6.1");
	loads_well();
	assert_string_equal(role("web")->image_version, "2");
}

/* Whoever restores an old store does not roll nodes back. */
static void an_older_image_than_before_is_not_taken(void **state)
{
	(void)state;
	put_image("debian-12", "2", false, "6.1");
	loads_well();
	drop_image("debian-12", "2");
	assert_int_equal(loads(), 0);
	has_one(errors, "role web: ");
	assert_string_equal(role("web")->image_version, "2");
	assert_non_null(strstr(notice, "role web stays as it is"));
}

static void a_bad_file_takes_its_role_away_from_nobody(void **state)
{
	static const char *const wrong[] = {"pool = \"web\";\nimage = \n",
					    ROLE("nowhere", "debian-12"), ROLE("web", "debian-13"),
					    ROLE("web", "debian-12") "colour = \"red\";\n",
					    ROLE("web", "debian-12") "packages = [ \"none\" ];\n"};
	(void)state;
	put_file("roles/other.conf", ROLE("web", "debian-12"));
	loads_well();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		put_file("roles/web.conf", wrong[i]);
		assert_int_equal(loads(), 0);
		has_one(errors, "/roles/web.conf:");
		assert_non_null(role("web"));
		assert_non_null(role("other"));
	}
	/* nor is another one removed, while it is not known which are there */
	drop_file("roles/other.conf");
	assert_int_equal(loads(), 0);
	assert_non_null(role("other"));
	put_file("roles/web.conf", ROLE("web", "debian-12"));
	loads_well();
	assert_null(role("other"));
	assert_non_null(role("web"));
}

static void a_bad_file_does_not_hide_a_new_one(void **state)
{
	(void)state;
	put_file("roles/web.conf", "image = \n");
	put_file("roles/other.conf", ROLE("web", "debian-12"));
	assert_int_equal(loads(), 0);
	assert_non_null(role("other"));
	assert_null(role("web"));
	/* who asks for it is told what is wrong with its file, and not with another one */
	assert_int_equal(catalog_no_role(&d, "web", &err), -ENOENT);
	assert_non_null(strstr(err.text, "as its file was not taken: "));
	assert_non_null(strstr(err.text, "web.conf:2"));
	phx_err_clear(&err);
	assert_int_equal(catalog_no_role(&d, "we", &err), -ENOENT);
	assert_string_equal(err.text, "there is no role 'we'");
}

static void a_role_that_a_node_has_stays(void **state)
{
	(void)state;
	loads_well();
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	drop_file("roles/web.conf");
	assert_int_equal(loads(), 0);
	has_one(errors, "n1");
	assert_non_null(role("web"));
}

static void what_was_wrong_is_kept_until_it_is_read_again(void **state)
{
	(void)state;
	put_file("roles/web.conf", "image = \n");
	assert_int_equal(catalog_load(&d, "test", NULL, NULL, &err), 0);
	PHX_AUTO_JSON json_t *wrong = catalog_mistakes(&d);
	has_one(wrong, "web.conf:2");
	json_array_clear(wrong); /* a copy */
	PHX_AUTO_JSON json_t *again = catalog_mistakes(&d);
	assert_int_equal(json_array_size(again), 1);
	put_file("roles/web.conf", ROLE("web", "debian-12"));
	assert_int_equal(catalog_load(&d, "test", NULL, NULL, &err), 0);
	PHX_AUTO_JSON json_t *none = catalog_mistakes(&d);
	assert_int_equal(json_array_size(none), 0);
}

static void before_the_first_reading_nothing_is_wrong(void **state)
{
	(void)state;
	PHX_AUTO_JSON json_t *none = catalog_mistakes(&d);
	assert_true(json_is_array(none));
	assert_int_equal(json_array_size(none), 0);
}

static void bad_rules_leave_those_that_are(void **state)
{
	(void)state;
	put_file("roles/rules.conf",
		 "rules = ( { role = \"web\"; when = [ \"cpus >= 1\" ]; } );\n");
	loads_well();
	put_file("roles/rules.conf", "rules = ( { role = \"web\"; when = [ \"colour\" ]; } );\n");
	assert_int_equal(loads(), 0);
	has_one(errors, "rules.conf:1");
	assert_int_equal(w->s.rules.n, 1);
	/* the core knows no path of theirs: the error has it nevertheless */
	put_file("roles/rules.conf",
		 "rules = ( { role = \"none\"; when = [ \"cpus >= 1\" ]; } );\n");
	assert_int_equal(loads(), 0);
	has_one(errors, d.cfg.rules_file);
	assert_int_equal(w->s.rules.n, 1);
	/* a rule may name a role whose file has just become bad */
	put_file("roles/rules.conf",
		 "rules = ( { role = \"web\"; when = [ \"cpus >= 2\" ]; } );\n");
	put_file("roles/web.conf", "image = \n");
	assert_int_equal(loads(), 0);
	has_one(errors, "web.conf:2");
	drop_file("roles/rules.conf");
	put_file("roles/web.conf", ROLE("web", "debian-12"));
	loads_well();
	assert_int_equal(w->s.rules.n, 0);
}

/* ---- pools ---- */

static void a_pool_that_is_gone_from_the_file_goes(void **state)
{
	(void)state;
	put_pool("spare", "");
	loads_well();
	assert_non_null(phx_state_pool(&w->s, "spare"));
	drop_pools();
	put_pool("web", "");
	loads_well();
	assert_null(phx_state_pool(&w->s, "spare"));
	assert_non_null(phx_state_pool(&w->s, "web"));
	assert_non_null(phx_state_pool(&w->s, PHX_POOL_FREE));
}

static void a_pool_that_holds_a_node_stays_with_its_owner(void **state)
{
	(void)state;
	drop_pools();
	put_pool("web", "carl");
	put_pool("spare", "");
	loads_well();
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	drop_pools();
	put_pool("web", "cert:eve");
	put_pool("new", "");
	/* what is settled once stays what it was: so the file names another one */
	phx_state_pool(&w->s, "web")->owner[0] = '\0';
	assert_int_equal(loads(), 0);
	has_one(errors, "pool 'web' cannot pass from owner");
	assert_string_equal(phx_state_pool(&w->s, "web")->owner, "");
	/* and those behind it are taken */
	assert_non_null(phx_state_pool(&w->s, "new"));
	assert_null(phx_state_pool(&w->s, "spare"));
}

static struct phx_re *put_re(const char *name)
{
	struct phx_re *re = phx_list_push(&w->s.res, sizeof(*re));
	PHX_STR_SET(re->name, name);
	re->state = PHX_RE_STATE_INITIAL;
	phx_named_changed(&w->s);
	return re;
}

/* It is the RE's, whose agreement says how it is set up. */
static void the_pool_of_an_re_is_none_of_the_files(void **state)
{
	(void)state;
	loads_well();
	put_re("hpc");
	put_pool("hpc", "");
	world_add_pool(w, "other", "", (struct phx_setup){0});
	put_re("other");
	assert_int_equal(loads(), 0);
	has_one(errors, "pool 'hpc' is that of an RE");
	assert_null(phx_state_pool(&w->s, "hpc"));
	/* nor is one removed because the file does not have it */
	assert_non_null(phx_state_pool(&w->s, "other"));
	/* no core removes an RE that has no ledger */
	w->s.res.n = 0;
	phx_named_changed(&w->s);
}

/* The text is that of what ended the reading, and not of what was passed over before. */
static void what_ends_the_reading_is_told(void **state)
{
	PHX_AUTO_FREE char *roles = phx_path("%s/roles", top);
	(void)state;
	loads_well();
	put_re("hpc");
	put_pool("hpc", "");
	assert_int_equal(phx_dir_remove(roles, NULL), 0);
	assert_true(loads() < 0);
	if (strstr(err.text, "pool 'hpc'") || !strstr(err.text, "roles"))
		fail_msg("%s", err.text);
	has_one(errors, "pool 'hpc' is that of an RE");
	assert_non_null(role("web"));
	w->s.res.n = 0;
	phx_named_changed(&w->s);
}

static void an_owner_who_is_none_ends_it(void **state)
{
	(void)state;
	put_pool("guest", "a/b");
	assert_int_equal(loads(), -EINVAL);
	assert_string_equal(err.text, "pool guest: owner: 'a/b' is no name");
	assert_null(role("web")); /* nothing behind it was read */
}

static void a_journal_that_takes_nothing_ends_it(void **state)
{
	(void)state;
	submit_result = -EROFS;
	assert_int_equal(loads(), -EROFS);
	assert_string_equal(err.text, "the journal takes nothing");
	assert_int_equal(w->s.roles.n, 0);
}

/* ---- keys and images ---- */

static void keys_of_packages_are_told_to_the_core_and_to_nodes(void **state)
{
	PHX_AUTO_FREE char *key = phx_path("%s/run/a.key", top);
	PHX_AUTO_FREE char *pub = NULL, *text = NULL;
	(void)state;
	assert_int_equal(phx_sign_key_new(key, &pub, NULL), 0);
	assert_int_equal(phx_file_read(pub, 4096, &text, NULL, NULL), 0);
	put_file("keys/alice.pub", text);
	loads_well();
	assert_int_equal(w->s.package_keys.n, 1);
	assert_string_equal(PHX_LIST_AT(&w->s.package_keys, struct phx_trusted_key, 0)->name,
			    "alice");
	assert_non_null(strstr(site_keys, "BEGIN PUBLIC KEY"));
	/* one that cannot be read: none is believed, rather than what was */
	put_file("keys/bad.pub", "-----BEGIN PUBLIC KEY-----\n");
	assert_int_equal(loads(), 0);
	has_one(errors, "keys of packages: ");
	assert_int_equal(w->s.package_keys.n, 0);
	assert_string_equal(site_keys, "");
}

static void an_image_without_a_signature_is_not_taken_where_one_is_wanted(void **state)
{
	struct phx_image im;
	(void)state;
	d.cfg.images_signed = true;
	assert_int_equal(catalog_image(&d, "debian-12", NULL, &im, NULL, &err), -EKEYREJECTED);
	assert_int_equal(loads(), 0);
	assert_null(role("web"));
	has_one(errors, "web.conf:2");
}

static void an_older_deploy_image_starts_no_machine(void **state)
{
	struct phx_image im;
	(void)state;
	put_image("deploy", "2", true, "6.1");
	loads_well();
	drop_image("deploy", "2");
	assert_int_equal(loads(), 0);
	has_one(errors, "deploy");
	assert_true(notice[0]);
	phx_err_clear(&err);
	assert_int_equal(catalog_deploy(&d, &im, &err), -ESTALE);
	assert_int_equal(catalog_use_deploy(&d, "test", &im, &err), -ESTALE);
	fake_engine_is_free();
	/* a newer one is told to the core once */
	put_image("deploy", "3", true, "6.1");
	uint64_t seq = w->s.seq;
	assert_int_equal(catalog_deploy(&d, &im, &err), 0);
	assert_string_equal(im.version, "3");
	phx_record_fini(&phx_image_record, &im);
	assert_int_equal(w->s.seq, seq);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(catalog_use_deploy(&d, "test", &im, &err), 0);
		phx_record_fini(&phx_image_record, &im);
		assert_int_equal(w->s.seq, seq + 1);
	}
}

/* A journal that is full keeps no machine from starting. */
static void a_deploy_image_is_used_though_it_cannot_be_journalled(void **state)
{
	struct phx_image im;
	(void)state;
	submit_result = -EROFS;
	assert_int_equal(catalog_use_deploy(&d, "test", &im, &err), 0);
	assert_string_equal(im.version, "1");
	phx_record_fini(&phx_image_record, &im);
}

static void a_missing_deploy_image_is_no_mistake(void **state)
{
	(void)state;
	drop_image("deploy", "1");
	loads_well();
	assert_non_null(role("web"));
}

static void a_deploy_image_is_known_by_its_digest(void **state)
{
	struct phx_image im;
	char name[64];
	(void)state;
	put_image("deploy", "2", true, "6.2");
	assert_int_equal(catalog_image(&d, "deploy", "1", &im, NULL, &err), 0);
	catalog_deploy_of(&d, im.digest, name, sizeof(name));
	assert_string_equal(name, "deploy 1");
	phx_record_fini(&phx_image_record, &im);
	/* of another name it is none */
	assert_int_equal(catalog_image(&d, "debian-12", "1", &im, NULL, &err), 0);
	catalog_deploy_of(&d, im.digest, name, sizeof(name));
	assert_string_equal(name, "");
	phx_record_fini(&phx_image_record, &im);
}

static void another_kernel_than_the_one_that_runs_is_a_warning(void **state)
{
	(void)state;
	put_image("debian-12", "2", false, "6.12");
	put_file("roles/old.conf", ROLE("web", "debian-12") "image_version = \"1\";\n");
	loads_well();
	has_one(warnings, "role web: image debian-12 2 brings kernel 6.12");
	assert_non_null(role("web")); /* it is taken */
}

static void where_nothing_can_be_listed_the_lists_are_empty(void **state)
{
	(void)state;
	PHX_AUTO_JSON json_t *images = catalog_images(&d);
	assert_int_equal(json_array_size(json_object_get(images, "images")), 2);
	PHX_AUTO_FREE char *dir = phx_path("%s/images", top);
	assert_int_equal(phx_dir_remove(dir, NULL), 0);
	PHX_AUTO_JSON json_t *none = catalog_images(&d), *packages = catalog_packages(&d);
	assert_int_equal(json_array_size(json_object_get(none, "images")), 0);
	assert_true(json_is_array(json_object_get(packages, "packages")));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_in_the_files_is_in_the_core),
		T(a_newer_image_is_taken_by_a_reload),
		T(an_older_image_than_before_is_not_taken),
		T(a_bad_file_takes_its_role_away_from_nobody),
		T(a_bad_file_does_not_hide_a_new_one),
		T(a_role_that_a_node_has_stays),
		T(what_was_wrong_is_kept_until_it_is_read_again),
		T(before_the_first_reading_nothing_is_wrong),
		T(bad_rules_leave_those_that_are),
		T(a_pool_that_is_gone_from_the_file_goes),
		T(a_pool_that_holds_a_node_stays_with_its_owner),
		T(the_pool_of_an_re_is_none_of_the_files),
		T(what_ends_the_reading_is_told),
		T(an_owner_who_is_none_ends_it),
		T(a_journal_that_takes_nothing_ends_it),
		T(keys_of_packages_are_told_to_the_core_and_to_nodes),
		T(an_image_without_a_signature_is_not_taken_where_one_is_wanted),
		T(an_older_deploy_image_starts_no_machine),
		T(a_deploy_image_is_used_though_it_cannot_be_journalled),
		T(a_missing_deploy_image_is_no_mistake),
		T(a_deploy_image_is_known_by_its_digest),
		T(another_kernel_than_the_one_that_runs_is_a_warning),
		T(where_nothing_can_be_listed_the_lists_are_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
