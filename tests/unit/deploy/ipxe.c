/* iPXE scripts and site.cpio: what is in them, and that no odd text gets into a script. */
#include "unit/deploy/help.h"

#include <archive.h>
#include <archive_entry.h>

static struct phx_image image = {
	.name = "deploy", .version = "1", .kind = PHX_IMAGE_INITRAMFS, .digest = "abc"};

static int boot(struct head *h, const char *node, char **ret, struct phx_err *err)
{
	const struct phx_ipxe_boot b = {&h->cfg, &image,         "52:54:00:00:00:0a", node,
					"",      h->cfg.address, .args = "",          .word = ""};
	return phx_ipxe_boot_script(&b, ret, err);
}

static void test_boot_script(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	char *text = NULL;
	head_configure(h, "kernel_args = \"console=ttyS0 quiet\";\nhttp_port = 81;\n");
	int r = boot(h, "n1", &text, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_memory_equal(text, "#!ipxe\n", 7);
	assert_contains(text, "http://10.9.0.1:81/images/deploy/1");
	assert_contains(text, "initrd=initrd.zst initrd=site.cpio ");
	assert_contains(text,
			" console=ttyS0 quiet phx.server=10.9.0.1:8443 phx.image=abc "
			"phx.beacon=10.9.0.1:81 BOOTIF=01-52-54-00-00-00-0a || goto again");
	assert_contains(text, "chain --replace http://10.9.0.1:81/boot/52-54-00-00-00-0a");
	assert_contains(text, "node n1 ");
	assert_null(strchr(text, '@'));
	/* whatever is fetched is tried again */
	for (const char *p = text; (p = strstr(p, "http://10.9.0.1:81/site.cpio")); p++)
		assert_contains(p, "|| goto again");
	free(text);
}

/* Under the kernel of a system stands the deploy image's archive, and the modules of that kernel
 * behind it. What the head sets comes behind what a role may say. */
static void test_kernel_of_a_system(void **state)
{
	struct head *h = *state;
	struct phx_image deploy = {.name = "deploy", .version = "1", .digest = "abc"};
	struct phx_image system = {.name = "debian-12", .version = "7", .kind = PHX_IMAGE_ROOTFS};
	struct phx_image_own own = {"6.1-rt", "vmlinuz-6.1-rt", "modules-6.1-rt.zst"};
	struct phx_ipxe_boot b = {&h->cfg,
				  &deploy,
				  "52:54:00:00:00:0a",
				  "n1",
				  "tok",
				  h->cfg.address,
				  &system,
				  &own,
				  "isolcpus=1",
				  "",
				  "6.1-rt,01234567"};
	char *text = NULL;
	head_configure(h, "kernel_args = \"quiet\";\nhttp_port = 81;\n");
	assert_int_equal(phx_ipxe_boot_script(&b, &text, NULL), 0);
	assert_contains(text, "set image http://10.9.0.1:81/images/deploy/1\n");
	assert_contains(text, "set system http://10.9.0.1:81/images/debian-12/7\n");
	assert_contains(text,
			"${system}/vmlinuz-6.1-rt initrd=initrd.zst initrd=modules-6.1-rt.zst "
			"initrd=site.cpio quiet isolcpus=1 phx.server=");
	assert_contains(text,
			" phx.image=abc phx.beacon=10.9.0.1:81 phx.kernel=6.1-rt,01234567 "
			"phx.start=tok BOOTIF=");
	const char *archive = strstr(text, "${image}/initrd.zst || goto again");
	const char *modules = strstr(text, "${system}/modules-6.1-rt.zst || goto again");
	assert_true(archive && modules && archive < modules);
	assert_null(strchr(text, '@'));
	free(text);
	/* without one, a role may have words all the same */
	b.own = NULL;
	b.word = ",01234567";
	assert_int_equal(phx_ipxe_boot_script(&b, &text, NULL), 0);
	assert_contains(text,
			"${image}/vmlinuz initrd=initrd.zst initrd=site.cpio quiet isolcpus=1 ");
	assert_contains(text, " phx.kernel=,01234567 ");
	free(text);
}

static void test_open_images(void **state)
{
	struct head *h = *state;
	char *text = NULL;
	head_configure(h, "http_port = 81;\nopen_images = true;\n");
	assert_int_equal(boot(h, "n1", &text, NULL), 0);
	assert_contains(text,
			" phx.server=10.9.0.1:8443 phx.image=abc phx.beacon=10.9.0.1:81 "
			"phx.http=10.9.0.1:81 BOOTIF=");
	free(text);
}

static void test_unknown_node(void **state)
{
	struct head *h = *state;
	char *text = NULL;
	assert_int_equal(boot(h, "", &text, NULL), 0);
	assert_contains(text, "node unknown ");
	free(text);
}

static void test_refuse_script(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	char *text = NULL;
	assert_int_equal(phx_ipxe_refuse_script(&h->cfg, h->cfg.address, "52:54:00:00:00:0a",
						"two nodes claim it", &text, &err),
			 0);
	assert_contains(text, "two nodes claim it");
	assert_contains(text, "/boot/52-54-00-00-00-0a");
	assert_null(strstr(text, "kernel"));
	free(text);
}

static void test_odd_texts_stay_out(void **state)
{
	struct head *h = *state;
	static const char *const reasons[] = {"a\nboot", "${net0/ip}", "a\rb", "caf\xc3\xa9",
					      "\x1b[2J"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(reasons); i++) {
		struct phx_err err = {0};
		char *text = NULL;
		assert_int_equal(phx_ipxe_refuse_script(&h->cfg, h->cfg.address,
							"52:54:00:00:00:0a", reasons[i], &text,
							&err),
				 -EINVAL);
		assert_contains(err.text, "refuse.ipxe:3");
		assert_null(text);
	}
}

static void test_wrong_image_and_templates(void **state)
{
	struct head *h = *state;
	struct phx_image root = {.name = "debian-12", .version = "1", .kind = PHX_IMAGE_ROOTFS};
	const struct phx_ipxe_boot b = {&h->cfg, &root,          "52:54:00:00:00:0a", "n1",
					"",      h->cfg.address, .args = "",          .word = ""};
	struct phx_err err = {0};
	char *text = NULL;
	assert_int_equal(phx_ipxe_boot_script(&b, &text, &err), -EINVAL);
	assert_contains(err.text, "debian-12 is no initramfs");
	strcpy(h->cfg.pxe_dir, h->place.dir);
	phx_err_clear(&err);
	assert_int_equal(boot(h, "n1", &text, &err), -ENOENT);
	assert_contains(err.text, "boot.ipxe: No such file");
	place_write(&h->place, "boot.ipxe", "#!ipxe\necho a@b @@ @URL@\necho @SECRET@\n");
	phx_err_clear(&err);
	assert_int_equal(boot(h, "n1", &text, &err), -EINVAL);
	assert_contains(err.text, "boot.ipxe:3: @SECRET@ is not known here");
	place_write(&h->place, "boot.ipxe", "#!ipxe\necho a@b @@ @NODE@ @");
	phx_err_clear(&err);
	assert_int_equal(boot(h, "n1", &text, &err), 0);
	assert_string_equal(text, "#!ipxe\necho a@b @@ n1 @");
	free(text);
}

/* ---- site.cpio ---- */

static void read_cpio(const char *path, char *names, size_t size, char *ca, size_t ca_size)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	archive_read_support_format_cpio(a);
	assert_int_equal(archive_read_open_filename(a, path, 4096), ARCHIVE_OK);
	names[0] = '\0';
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		size_t n = strlen(names);
		snprintf(names + n, size - n, "%s:%o ", archive_entry_pathname(e),
			 archive_entry_mode(e));
		if (strstr(archive_entry_pathname(e), "ca.pem")) {
			la_ssize_t k = archive_read_data(a, ca, ca_size - 1);
			assert_true(k >= 0);
			ca[k] = '\0';
		}
	}
	assert_int_equal(archive_format(a) & ARCHIVE_FORMAT_BASE_MASK, ARCHIVE_FORMAT_CPIO);
	archive_read_free(a);
}

static void test_site_cpio(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	char path[256], again[256], names[256], ca[256];
	const struct phx_site_files files = {"CA TEXT\n", "KEY\n", "ONE\nTWO\n", true};
	assert_int_equal(
		phx_site_cpio_write(place_path(&h->place, "site.cpio", path), &files, &err), 0);
	read_cpio(path, names, sizeof(names), ca, sizeof(ca));
	assert_string_equal(names,
			    "etc:40755 etc/phoenix:40755 etc/phoenix/ca.pem:100644 "
			    "etc/phoenix/packages.pub:100644 etc/phoenix/site.pub:100644 "
			    "etc/phoenix/images.signed:100644 ");
	assert_string_equal(ca, "CA TEXT\n");
	PHX_AUTO_FREE char *one = NULL;
	PHX_AUTO_FREE char *two = NULL;
	size_t n_one, n_two;
	assert_int_equal(
		phx_site_cpio_write(place_path(&h->place, "again.cpio", again), &files, &err), 0);
	assert_int_equal(phx_file_read(path, 65536, &one, &n_one, NULL), 0);
	assert_int_equal(phx_file_read(again, 65536, &two, &n_two, NULL), 0);
	assert_int_equal(n_one, n_two);
	assert_memory_equal(one, two, n_one);
	/* the kernel wants newc; loaders put it behind another archive */
	assert_memory_equal(one, "070701", 6);
	assert_int_equal(n_one % 512, 0);
}

static void test_site_cpio_cannot_be_written(void **state)
{
	(void)state;
	struct phx_err err = {0};
	const struct phx_site_files files = {"a", "b", "", false};
	assert_int_equal(phx_site_cpio_write("/nonexistent/site.cpio", &files, &err), -ENOENT);
	assert_contains(err.text, "/nonexistent/site.cpio");
}

/* Arguments of head, role and site stand in this order, and more of them than a kernel takes are
 * refused: the kernel would cut the head's own words off. */
static void arguments_of_the_site_come_last(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	char *text = NULL, many[2000];
	struct phx_ipxe_boot b = {.cfg = &h->cfg,
				  .image = &image,
				  .mac = "52:54:00:00:00:0a",
				  .node = "n1",
				  .token = "",
				  .head = h->cfg.address,
				  .args = "of=role",
				  .site = "hugepages=64 quiet",
				  .word = ""};
	assert_int_equal(phx_ipxe_boot_script(&b, &text, &err), 0);
	assert_non_null(strstr(text, "of=role hugepages=64 quiet"));
	free(text);
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	b.site = many;
	assert_int_equal(phx_ipxe_boot_script(&b, &text, &err), -EINVAL);
	assert_non_null(strstr(err.text, "the kernel takes"));
	PHX_AUTO_FREE char *line = phx_kernel_line("", NULL, "a");
	assert_string_equal(line, "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_HEAD(test_boot_script),
		RUN_HEAD(arguments_of_the_site_come_last),
		RUN_HEAD(test_kernel_of_a_system),
		RUN_HEAD(test_open_images),
		RUN_HEAD(test_unknown_node),
		RUN_HEAD(test_refuse_script),
		RUN_HEAD(test_odd_texts_stay_out),
		RUN_HEAD(test_wrong_image_and_templates),
		RUN_HEAD(test_site_cpio),
		cmocka_unit_test(test_site_cpio_cannot_be_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
