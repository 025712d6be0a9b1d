/* The TFTP directory, and the real in.tftpd with the real tftp client in a namespace. Needs
 * root. */
#include "unit/deploy/net.h"

#include "deploy/child.h"
#include "deploy/tftp_log.h"

static void test_prepare(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	struct stat a, b;
	assert_int_equal(phx_tftp_prepare(&h->cfg, &err), 0);
	assert_string_equal(err.text, "");
	PHX_AUTO_FREE char *bios = phx_tftp_path(&h->cfg, "undionly.kpxe");
	PHX_AUTO_FREE char *uefi = phx_tftp_path(&h->cfg, "snponly.efi");
	assert_int_equal(stat(uefi, &a), 0);
	assert_int_equal(a.st_mode & 0777, 0644);
	assert_int_equal(stat(bios, &a), 0);
	assert_true(a.st_size > 10000);
	/* again: nothing is written; cut short: made whole */
	assert_int_equal(phx_tftp_prepare(&h->cfg, &err), 0);
	assert_int_equal(stat(bios, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(truncate(bios, 100), 0);
	assert_int_equal(phx_tftp_prepare(&h->cfg, &err), 0);
	assert_int_equal(stat(bios, &b), 0);
	assert_int_equal(a.st_size, b.st_size);
}

static void test_prepare_without_ipxe(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	head_configure(h, "ipxe_dir = \"/nonexistent\";\n");
	assert_int_equal(phx_tftp_prepare(&h->cfg, &err), -ENOENT);
	assert_contains(err.text, "/nonexistent/undionly.kpxe: No such file");
	assert_contains(err.text, "install the package 'ipxe'");
}

static void test_only_these_files(void **state)
{
	struct head *h = *state;
	assert_null(phx_tftp_path(&h->cfg, "../secret"));
	assert_null(phx_tftp_path(&h->cfg, ""));
	assert_null(phx_tftp_path(&h->cfg, "undionly.kpxe/"));
}

/* tftp(1) in the client's namespace; true when the file arrived. */
static bool fetch(struct net *net, const char *file, const char *to)
{
	const char *const argv[] = {"tftp", "-m", "binary", "10.9.0.1", "-c",
				    "get",  file, to,       NULL};
	const struct phx_run run = {.argv = argv, .timeout_ms = 8000};
	struct phx_run_result res = {0};
	unlink(to);
	net_enter(net->client);
	int r = phx_run(&run, &res, NULL);
	net_enter(net->server);
	bool refused = res.out && strstr(res.out, "Error");
	phx_run_result_fini(&res);
	return r == 0 && !refused && access(to, F_OK) == 0;
}

static void compare(const char *a, const char *b)
{
	PHX_AUTO_FREE char *x = NULL;
	PHX_AUTO_FREE char *y = NULL;
	size_t nx, ny;
	assert_int_equal(phx_file_read(a, 8 << 20, &x, &nx, NULL), 0);
	assert_int_equal(phx_file_read(b, 8 << 20, &y, &ny, NULL), 0);
	assert_int_equal(nx, ny);
	assert_memory_equal(x, y, nx);
}

static void serve_and_fetch(struct head *h, struct net *net, struct phx_children *children,
			    const char *name, struct phx_argv *argv)
{
	struct phx_err err = {0};
	char to[256], log[256];
	struct phx_child_spec spec = {name, (const char *const *)argv->v, NULL,
				      place_path(&h->place, "log", log)};
	int r = phx_children_add(children, &spec, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	place_path(&h->place, "got", to);
	bool got = false;
	/* the client waits 5 s after a packet that came too early */
	sleep_ms(400);
	for (int i = 0; i < 20 && !got; i++) {
		got = fetch(net, "snponly.efi", to);
		if (!got)
			sleep_ms(100);
	}
	assert_true(got);
	compare(to, "/usr/lib/ipxe/snponly.efi");
	assert_true(fetch(net, "undionly.kpxe", to));
	compare(to, "/usr/lib/ipxe/undionly.kpxe");
	fetch(net, "../phoenix.conf", to);
	struct stat st;
	assert_true(stat(to, &st) < 0 || st.st_size == 0);
	phx_argv_fini(argv);
}

/* Its log has a line that is a row of the client. */
static bool has_said(const char *log, enum phx_start_kind kind, const char *text)
{
	PHX_AUTO_FREE char *lines = NULL;
	struct phx_start_row row;
	struct phx_tftp_log seen = {0};
	bool said = false;
	assert_int_equal(phx_file_read(log, 1 << 20, &lines, NULL, NULL), 0);
	char *rest = lines;
	for (char *line; (line = strsep(&rest, "\n"));)
		said = said ||
			(phx_tftp_log_take(&seen, line, &row) && row.kind == (int)kind &&
			 !strcmp(row.node, "10.9.0.20") && !strcmp(row.text, text));
	return said;
}

static void says(struct head *h, enum phx_start_kind kind, const char *text)
{
	char log[256];
	place_path(&h->place, "log", log);
	for (int i = 0; i < 50 && !has_said(log, kind, text); i++)
		sleep_ms(100);
	assert_true(has_said(log, kind, text));
}

static void give_client_an_address(struct net *net)
{
	net_make(net);
	net_enter(net->client);
	IP("addr", "add", "10.9.0.20/24", "dev", "v1");
	net_enter(net->server);
}

static void test_in_tftpd_serves(void **state)
{
	struct head *h = *state;
	struct net net;
	struct phx_children *children;
	struct phx_argv argv;
	give_client_an_address(&net);
	assert_int_equal(phx_children_new(NULL, NULL, &children, NULL), 0);
	assert_int_equal(phx_tftp_prepare(&h->cfg, NULL), 0);
	assert_int_equal(phx_tftpd_argv(&h->cfg, &argv), 0);
	serve_and_fetch(h, &net, children, "in.tftpd", &argv);
	/* what it says by syslog(3) */
	says(h, PHX_START_tftp_asked, "snponly.efi");
	says(h, PHX_START_tftp_failed, "../phoenix.conf: Reverse path not allowed");
	phx_children_free(children);
	net_remove(&net);
}

static void test_dnsmasq_serves_too(void **state)
{
	struct head *h = *state;
	struct net net;
	struct phx_children *children;
	struct phx_argv argv;
	head_configure(h, "tftp = \"dnsmasq\";\ndhcp_ra = false;\n");
	give_client_an_address(&net);
	assert_int_equal(phx_children_new(NULL, NULL, &children, NULL), 0);
	assert_int_equal(phx_tftp_prepare(&h->cfg, NULL), 0);
	assert_int_equal(phx_dnsmasq_write(&h->cfg, NULL, 4, NULL), 1);
	assert_int_equal(phx_dnsmasq_argv(&h->cfg, &argv), 0);
	serve_and_fetch(h, &net, children, "dnsmasq", &argv);
	phx_children_free(children);
	net_remove(&net);
}

int main(int argc, char **argv)
{
	if (argc == PHX_TFTPD_WORDS && !strcmp(argv[1], "--tftpd"))
		return phx_tftpd_become(argv);
	const struct CMUnitTest tests[] = {
		RUN_HEAD(test_prepare),
		RUN_HEAD(test_prepare_without_ipxe),
		RUN_HEAD(test_only_these_files),
		RUN_HEAD(test_in_tftpd_serves),
		RUN_HEAD(test_dnsmasq_serves_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
