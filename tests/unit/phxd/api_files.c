/* Files for machines and agents (cmd/phxd/api_files.c): what a machine without a name is told and
 * given, which images and packages a node gets, and by which names none. The scripts and files are
 * real; what the core says of orders, and who asks, the test says. */
#include "fake/engine.h"
#include "fake/request.h"

#include <sys/stat.h>

#include "base/tree.h"
#include "core/core.h"
#include "deploy/store.h"
#include "phxd/daemon.h"

static struct phx_boot wanted; /* what the core wants of the machine */
static const char *ordered;    /* "IMAGE VERSION", or a package: that an order of n1 names */
static char asked_mac[PHX_MAC_MAX];

static struct phx_boot fake_boot(const struct phx_state *s, const char *mac, const char *address)
{
	assert_ptr_equal(s, fake_state);
	assert_true(fake_engine_held);
	assert_string_equal(address, "10.2.0.7");
	PHX_STR_SET(asked_mac, mac);
	return wanted;
}

static bool fake_gives_image(const struct phx_state *s, const char *node, const char *image,
			     const char *version)
{
	char text[200];
	assert_ptr_equal(s, fake_state);
	snprintf(text, sizeof(text), "%s %s", image, version);
	return !strcmp(node, "n1") && ordered && !strcmp(ordered, text);
}

static bool fake_gives_package(const struct phx_state *s, const char *node, const char *file)
{
	assert_ptr_equal(s, fake_state);
	return !strcmp(node, "n1") && ordered && !strcmp(ordered, file);
}

#define phx_core_boot fake_boot
#define phx_core_gives_image fake_gives_image
#define phx_core_gives_package fake_gives_package
#include "fake/starts.h"
#include "phxd/api_files.c" /* parts of a program, not of the library */
#include "phxd/view_hide.c"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct daemon head;
static struct phx_state core;
static char top[64];
static const char *agent; /* of which node; NULL: none is believed */
static bool deploy_there;
static const char *path; /* of the request */

const char *phx_http_path(const struct phx_http_request *q)
{
	(void)q;
	return path;
}

bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	(void)d;
	if (!agent)
		phx_http_reply_error(q, -EPERM, "an older certificate");
	return agent && phx_str_copy(ret_node, PHX_NAME_MAX, agent) == 0;
}

void keys_start_token(struct keys *k, const char *node, uint64_t start,
		      char ret[PHX_START_TOKEN_MAX])
{
	(void)k, (void)node;
	snprintf(ret, PHX_START_TOKEN_MAX, start ? "token-%u" : "", (unsigned)start);
}

void site_head(struct daemon *d, const char *address, char ret[PHX_IPV4_MAX])
{
	(void)d, (void)address;
	phx_str_copy(ret, PHX_IPV4_MAX, "10.2.0.2");
}

char *site_kernel_args(struct site *s, const char *node)
{
	(void)s, (void)node;
	return strdup("");
}

int catalog_image(const struct daemon *d, const char *name, const char *version,
		  struct phx_image *ret, char ret_signature[PHX_SIG_HEX], struct phx_err *err)
{
	(void)ret_signature;
	return phx_images_find(d->cfg.image_dir, name, version, ret, err);
}

int catalog_use_deploy(struct daemon *d, const char *by, struct phx_image *ret, struct phx_err *err)
{
	assert_string_equal(by, "phxd");
	assert_false(fake_engine_held);
	return deploy_there ? phx_images_find(d->cfg.image_dir, "deploy", NULL, ret, err)
			    : phx_err_set(err, -ENOENT, "there is no deploy image");
}

/* ---- files ---- */

static void put_file(const char *name, const char *text)
{
	PHX_AUTO_FREE char *to = phx_path("%s/%s", top, name);
	assert_int_equal(phx_file_write(to, text, strlen(text), 0644, NULL), 0);
}

/* With two files of three bytes. */
static void put_image(const char *name, const char *kind, const char *file)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/images/%s/1", top, name);
	PHX_AUTO_FREE char *text = phx_path(
		"name = \"%s\";\nversion = \"1\";\nkind = \"%s\";\narchitecture = \"amd64\";\n"
		"kernel_release = \"6.1\";\nfiles = ( { name = \"vmlinuz\"; size = 3L; sha256 = "
		"\"" A64 "\"; },\n{ name = \"%s\"; size = 3L; sha256 = \"" A64
		"\"; raw_size = 9L; } );\n",
		name, kind, file);
	char in[200];
	assert_int_equal(phx_dir_make(dir, 0755, NULL), 0);
	snprintf(in, sizeof(in), "images/%s/1/manifest.conf", name);
	put_file(in, text);
	snprintf(in, sizeof(in), "images/%s/1/vmlinuz", name);
	put_file(in, "krn");
	snprintf(in, sizeof(in), "images/%s/1/%s", name, file);
	put_file(in, "abc");
}

static int setup(void **state)
{
	(void)state;
	fake_requests_begin();
	strcpy(top, "/tmp/phx-files.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	head = (struct daemon){.cfg = {.http_port = 8080}};
	PHX_STR_SET(head.cfg.address, "10.9.0.1");
	snprintf(head.cfg.image_dir, sizeof(head.cfg.image_dir), "%s/images", top);
	snprintf(head.cfg.package_dir, sizeof(head.cfg.package_dir), "%s/packages", top);
	snprintf(head.cfg.run_dir, sizeof(head.cfg.run_dir), "%s", top);
	PHX_STR_SET(head.cfg.pxe_dir, TEST_DIR "/../pxe");
	core = (struct phx_state){0};
	fake_state = &core;
	PHX_AUTO_FREE char *packages = phx_path("%s/packages", top);
	if (phx_dir_make(packages, 0755, NULL) < 0)
		return -1;
	put_image("deploy", "initramfs", "initrd.zst");
	put_image("debian-12", "rootfs", "root.ext4.zst");
	put_file("packages/mpi-1.tar.zst", "package");
	put_file("secret", "secret");
	struct phx_node *n = phx_list_push(&core.nodes, sizeof(*n));
	PHX_STR_SET(n->name, "n1");
	PHX_STR_SET(n->reason,
		    "disk serial-X: start failed: s ended at once with status 1: password");
	wanted = (struct phx_boot){.node = "n1", .start = 7};
	ordered = agent = NULL;
	deploy_there = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	phx_list_fini(&core.nodes);
	return phx_dir_remove(top, NULL);
}

/* ---- what a machine boots ---- */

static const char *boots(const char *mac, int code)
{
	static char text[FAKE_TEXT];
	FAKE_REQUEST q = {.peer = {.address = "10.2.0.7"}, .params = {mac}};
	api_boot(&q, &head);
	assert_int_equal(q.code, code);
	PHX_STR_SET(text, q.text);
	return text;
}

static void a_machine_gets_the_deploy_environment_and_its_token(void **state)
{
	(void)state;
	const char *text = boots("52-54-00-00-00-0A", 200);
	assert_true(phx_str_starts(text, "#!ipxe"));
	assert_string_equal(asked_mac, "52:54:00:00:00:0a");
	assert_non_null(strstr(text, "token-7"));
	assert_non_null(strstr(text, "http://10.2.0.2:8080/"));
}

/* Anybody may ask for the MAC address of another machine. */
static void why_a_node_is_quarantined_is_told_in_short(void **state)
{
	(void)state;
	wanted.choice = PHX_BOOT_REFUSE;
	const char *text = boots("52:54:00:00:00:01", 200);
	assert_non_null(strstr(text, "disk serial-."));
	assert_non_null(strstr(text, "with status 1"));
	assert_null(strstr(text, "serial-X"));
	assert_null(strstr(text, "password"));
	assert_null(strstr(text, "token-7"));
}

/* It asks again, and boots as soon as there is one. */
static void without_an_image_a_machine_waits(void **state)
{
	(void)state;
	deploy_there = false;
	const char *text = boots("52:54:00:00:00:01", 200);
	assert_true(phx_str_starts(text, "#!ipxe"));
	assert_non_null(strstr(text, "there is no deploy image"));
	assert_null(strstr(text, "token-7"));
	deploy_there = true;
	PHX_STR_SET(wanted.kernel.image, "debian-12");
	PHX_STR_SET(wanted.kernel.version, "1");
	PHX_STR_SET(wanted.kernel.release, "6.1");
	assert_non_null(strstr(boots("52:54:00:00:00:01", 200),
			       "image debian-12 1 has no kernel 6.1 with its modules"));
	PHX_STR_SET(wanted.kernel.version, "2");
	assert_non_null(strstr(boots("52:54:00:00:00:01", 200), "image debian-12 2"));
}

static void what_is_no_mac_address_is_refused(void **state)
{
	static const char *const texts[] = {"", "n1", "52:54:00:00:00", "52:54:00:00:00:01:02",
					    "52:54:00:00:00:0g"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++)
		assert_string_equal(boots(texts[i], -EINVAL), "boot/MAC: that is no MAC address");
}

/* ---- images ---- */

#define NOT_OPEN \
	"there is no such image that boots: a node fetches others by HTTPS when it is ordered to " \
	"deploy them (open_images is off)"
#define NO_ORDER "no order of this node names that image"

static void assert_image(const char *name, const char *version, const char *file, bool cert,
			 int code, const char *want)
{
	FAKE_REQUEST q = {.peer = {.has_cert = cert}, .params = {name, version}};
	char url[300];
	snprintf(url, sizeof(url), "/images/%s/%s/%s", name, version, file);
	path = url;
	api_image_file(&q, &head);
	assert_int_equal(q.code, code);
	if (want)
		assert_string_equal(q.text, want);
}

/* Firmware fetches it, without any name. */
static void an_image_that_boots_is_for_everybody(void **state)
{
	(void)state;
	assert_image("deploy", "1", "vmlinuz", false, 200, "krn");
	assert_image("deploy", "1", "initrd.zst", false, 200, "abc");
	assert_image("deploy", "1", "nosuch", false, -ENOENT, NULL);
}

static void the_root_of_a_system_is_for_nodes_that_are_to_have_it(void **state)
{
	(void)state;
	assert_image("debian-12", "1", "root.ext4.zst", false, -ENOENT, NOT_OPEN);
	assert_image("nosuch", "1", "root.ext4.zst", false, -ENOENT, NOT_OPEN); /* the same */
	assert_image("debian-12", "1", "root.ext4.zst", true, -EPERM, "an older certificate");
	agent = "n1";
	assert_image("debian-12", "1", "root.ext4.zst", true, -ENOENT, NO_ORDER);
	ordered = "debian-12 2";
	assert_image("debian-12", "1", "root.ext4.zst", true, -ENOENT, NO_ORDER);
	ordered = "debian-12 1";
	assert_image("debian-12", "1", "root.ext4.zst", true, 200, "abc");
	agent = "n2";
	assert_image("debian-12", "1", "root.ext4.zst", true, -ENOENT, NO_ORDER);
	head.cfg.open_images = true;
	assert_image("debian-12", "1", "root.ext4.zst", false, 200, "abc");
}

/* Nothing else in the store, nor outside of it. */
static void only_files_of_the_manifest_are_given(void **state)
{
	(void)state;
	head.cfg.open_images = true;
	put_file("images/debian-12/1/notes.txt", "secret");
	assert_image("debian-12", "1", "notes.txt", false, -ENOENT, NULL);
	assert_image("debian-12", "1", "..", false, -ENOENT, NULL);
	PHX_AUTO_FREE char *dir = phx_path("%s/images/debian-12/1/secret", top);
	assert_int_equal(phx_dir_make(dir, 0755, NULL), 0);
	assert_image("debian-12", "1", "secret", false, -ENOENT, NULL);
	FAKE_REQUEST q = {.params = {"../..", "."}};
	path = "/images/../../secret";
	api_image_file(&q, &head);
	assert_true(q.code < 0);
}

/* ---- packages ---- */

static void assert_package(const char *file, int code, const char *want)
{
	FAKE_REQUEST q = {.params = {file}};
	api_package_file(&q, &head);
	assert_int_equal(q.code, code);
	assert_string_equal(q.text, want);
}

static void a_package_is_for_nodes_that_are_to_have_it(void **state)
{
	(void)state;
	ordered = "mpi-1.tar.zst";
	assert_package("mpi-1.tar.zst", -EPERM, "an older certificate");
	agent = "n2";
	assert_package("mpi-1.tar.zst", -ENOENT, "no order of this node names that package");
	agent = "n1";
	assert_package("mpi-1.tar.zst", 200, "package");
	assert_package("mpi-2.tar.zst", -ENOENT, "no order of this node names that package");
	/* whatever an order says */
	static const char *const names[] = {"../secret", "..", ".hidden", "a/../../secret", "/etc"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		ordered = names[i];
		assert_package(names[i], -EINVAL, "packages/FILE: a plain file name is wanted");
	}
}

static void only_files_of_ipxe_are_given(void **state)
{
	static const char *const names[] = {"nosuch", "../secret", "", "..", "/etc/passwd"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		FAKE_REQUEST q = {.params = {names[i]}};
		api_ipxe_file(&q, &head);
		assert_int_equal(q.code, -ENOENT);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_machine_gets_the_deploy_environment_and_its_token),
		T(why_a_node_is_quarantined_is_told_in_short),
		T(without_an_image_a_machine_waits),
		T(what_is_no_mac_address_is_refused),
		T(an_image_that_boots_is_for_everybody),
		T(the_root_of_a_system_is_for_nodes_that_are_to_have_it),
		T(only_files_of_the_manifest_are_given),
		T(a_package_is_for_nodes_that_are_to_have_it),
		T(only_files_of_ipxe_are_given),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
