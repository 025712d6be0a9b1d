/* dnsmasq.conf, host files: the texts, accepted by the real dnsmasq, and what is refused. */
#include "unit/deploy/help.h"

#include <dirent.h>

#include "base/spawn.h"

static char *conf_of(struct head *h, uint32_t n_nodes)
{
	char *text = NULL;
	struct phx_err err = {0};
	int r = phx_dnsmasq_conf(&h->cfg, NULL, n_nodes, &text, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	return text;
}

/* The real program has to like it. */
static void check_with_dnsmasq(struct head *h)
{
	struct phx_argv argv;
	struct phx_err err = {0};
	assert_true(phx_dnsmasq_write(&h->cfg, NULL, 4, &err) >= 0);
	assert_int_equal(phx_dnsmasq_argv(&h->cfg, &argv), 0);
	const char *const test[] = {argv.v[0], "--test", argv.v[2], NULL};
	const struct phx_run run = {.argv = test};
	int r = phx_run_check(&run, NULL, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	phx_argv_fini(&argv);
}

static void test_dhcp_mode(void **state)
{
	struct head *h = *state;
	head_configure(h,
		       "dhcp_range = \"10.9.0.100,10.9.0.120\";\ngateway = \"10.9.0.254\";\ndomain "
		       "= \"cluster\";\n");
	PHX_AUTO_FREE char *text = conf_of(h, 4);
	assert_contains(text, "\nport=0\n");
	assert_contains(text, "\ninterface=v0\n");
	assert_contains(text, "\ndhcp-range=10.9.0.100,10.9.0.120,255.255.255.0,3600\n");
	assert_contains(text, "\ndhcp-option=option:router,10.9.0.254\n");
	assert_contains(text, "\ndhcp-option=option:dns-server\n");
	assert_contains(text, "\ndomain=cluster\n");
	assert_contains(text, "\nno-ping\n");
	assert_contains(text,
			"\ndhcp-boot=tag:ipxe,http://10.9.0.1:8080/boot/${netX/mac:hexhyp}\n");
	assert_contains(text, "\ndhcp-boot=tag:!ipxe,tag:efi,snponly.efi,,10.9.0.1\n");
	assert_contains(text,
			"\ndhcp-boot=tag:!ipxe,tag:!efi,tag:!efihttp,undionly.kpxe,,10.9.0.1\n");
	assert_contains(
		text, "\ndhcp-boot=tag:!ipxe,tag:efihttp,http://10.9.0.1:8080/ipxe/snponly.efi\n");
	assert_contains(text, "\ndhcp-option=tag:ipxe,encap:175,176,1b\n");
	assert_contains(text, "\nenable-ra\n");
	check_with_dnsmasq(h);
}

static void test_without_the_extras(void **state)
{
	struct head *h = *state;
	head_configure(h,
		       "dhcp_ra = false;\nipxe_fast = false;\nprefix = 20;\ntftp_server = "
		       "\"10.9.0.7\";\n");
	PHX_AUTO_FREE char *text = conf_of(h, 4);
	assert_null(strstr(text, "enable-ra"));
	assert_null(strstr(text, "encap:175"));
	assert_null(strstr(text, "tftp-root"));
	assert_contains(text, "\ndhcp-range=10.9.0.0,static,255.255.240.0,3600\n");
	assert_contains(text, "undionly.kpxe,,10.9.0.7\n");
	check_with_dnsmasq(h);
}

static void test_proxy_mode(void **state)
{
	struct head *h = *state;
	head_configure(h, "dhcp_mode = \"proxy\";\ntftp = \"dnsmasq\";\n");
	PHX_AUTO_FREE char *text = conf_of(h, 4);
	assert_contains(text, "\ndhcp-range=10.9.0.0,proxy,255.255.255.0\n");
	assert_contains(text,
			"\npxe-service=tag:ipxe,x86PC,\"Phoenix\",http://10.9.0.1:8080/boot/${netX/"
			"mac:hexhyp}\n");
	assert_contains(text,
			"\npxe-service=tag:!ipxe,X86-64_EFI,\"Phoenix\",snponly.efi,10.9.0.1\n");
	assert_contains(text, "\ntftp-max=64\n");
	/* no addresses, nothing that makes iPXE ignore proxies */
	assert_null(strstr(text, "dhcp-lease-max"));
	assert_null(strstr(text, "encap:175"));
	assert_null(strstr(text, "enable-ra"));
	check_with_dnsmasq(h);
}

static void test_limits_follow_the_nodes(void **state)
{
	struct head *h = *state;
	head_configure(h, "tftp = \"dnsmasq\";\n");
	static const struct {
		uint32_t nodes;
		const char *leases, *transfers;
	} rows[] = {
		{0, "\ndhcp-lease-max=1024\n", "\ntftp-max=64\n"},
		{512, "\ndhcp-lease-max=1024\n", "\ntftp-max=512\n"},
		{513, "\ndhcp-lease-max=2048\n", "\ntftp-max=1024\n"},
		{10000, "\ndhcp-lease-max=32768\n", "\ntftp-max=16384\n"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_FREE char *text = conf_of(h, rows[i].nodes);
		assert_contains(text, rows[i].leases);
		assert_contains(text, rows[i].transfers);
	}
	char *text = NULL;
	assert_int_equal(phx_dnsmasq_conf(&h->cfg, NULL, 2000000, &text, NULL), -E2BIG);
}

static void test_written_only_when_it_changes(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	assert_int_equal(phx_dnsmasq_write(&h->cfg, NULL, 4, &err), 1);
	assert_int_equal(phx_dnsmasq_write(&h->cfg, NULL, 5, &err), 0);
	assert_int_equal(phx_dnsmasq_write(&h->cfg, NULL, 5000, &err), 1);
	assert_int_equal(phx_dnsmasq_write(&h->cfg, NULL, 5000, &err), 0);
	assert_string_equal(err.text, "");
}

static void test_none_has_no_dnsmasq(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	head_configure(h, "dhcp_mode = \"none\";\n");
	assert_int_equal(phx_dnsmasq_write(&h->cfg, NULL, 4, &err), -EINVAL);
	assert_contains(err.text, "dhcp_mode");
}

/* ---- host files ---- */

static char *host_text(struct head *h, const char *name)
{
	char path[512], *text = NULL;
	snprintf(path, sizeof(path), "%s/dnsmasq/hosts/%s", h->cfg.run_dir, name);
	return phx_file_read(path, 4096, &text, NULL, NULL) == 0 ? text : NULL;
}

static size_t count_hosts(struct head *h)
{
	char path[512];
	size_t n = 0;
	snprintf(path, sizeof(path), "%s/dnsmasq/hosts", h->cfg.run_dir);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void test_host_files(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	struct phx_dhcp_host hosts[] = {
		{"52:54:00:00:00:02", "10.9.0.12", "n2"},
		{"52:54:00:00:00:01", "10.9.0.11", "n1"},
		{"52:54:00:00:00:03", "", "n3"},
	};
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 2, &err), PHX_DHCP_LIVE);
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 2, &err), PHX_DHCP_SAME);
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 3, &err), PHX_DHCP_LIVE);
	PHX_AUTO_FREE char *one = host_text(h, "n1");
	assert_string_equal(one, "52:54:00:00:00:01,10.9.0.11,n1\n");
	PHX_AUTO_FREE char *three = host_text(h, "n3");
	assert_string_equal(three, "52:54:00:00:00:03,n3\n");
	strcpy(hosts[1].mac, "52:54:00:00:00:99");
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 3, &err), PHX_DHCP_SIGHUP);
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 2, &err), PHX_DHCP_SIGHUP);
	assert_int_equal(count_hosts(h), 2);
	/* renamed: the old file goes, so it takes a signal */
	strcpy(hosts[0].name, "web1");
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 2, &err), PHX_DHCP_SIGHUP);
	assert_null(host_text(h, "n2"));
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, NULL, 0, &err), PHX_DHCP_SIGHUP);
	assert_int_equal(count_hosts(h), 0);
	assert_string_equal(err.text, "");
}

/* The card before stays in the file, unless another node has it now. */
static void test_a_replaced_card(void **state)
{
	struct head *h = *state;
	struct phx_dhcp_host hosts[] = {{"52:54:00:00:00:01", "10.9.0.11", "n1"},
					{"52:54:00:00:00:02", "10.9.0.12", "n2"}};
	phx_dhcp_hosts_sync(&h->cfg, hosts, 2, NULL);
	strcpy(hosts[0].mac, "52:54:00:00:00:09");
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 2, NULL), PHX_DHCP_SIGHUP);
	PHX_AUTO_FREE char *replaced = host_text(h, "n1");
	assert_string_equal(replaced, "52:54:00:00:00:09,52:54:00:00:00:01,10.9.0.11,n1\n");
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 2, NULL), PHX_DHCP_SAME);
	/* cards swapped between nodes */
	strcpy(hosts[1].mac, "52:54:00:00:00:01");
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 2, NULL), PHX_DHCP_SIGHUP);
	PHX_AUTO_FREE char *one = host_text(h, "n1");
	PHX_AUTO_FREE char *two = host_text(h, "n2");
	assert_string_equal(one, "52:54:00:00:00:09,10.9.0.11,n1\n");
	assert_string_equal(two, "52:54:00:00:00:01,52:54:00:00:00:02,10.9.0.12,n2\n");
	/* only so many are kept */
	for (int i = 16; i < 32; i++) {
		snprintf(hosts[0].mac, sizeof(hosts[0].mac), "52:54:00:00:00:%02x", i);
		assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 2, NULL), PHX_DHCP_SIGHUP);
	}
	PHX_AUTO_FREE char *many = host_text(h, "n1");
	assert_string_equal(many,
			    "52:54:00:00:00:1f,52:54:00:00:00:1e,52:54:00:00:00:1d,52:54:00:00:00:"
			    "1c,10.9.0.11,n1\n");
}

/* One node's file is made without a look at those of others. */
static void test_one_host(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	struct phx_dhcp_host hosts[] = {{"52:54:00:00:00:01", "10.9.0.11", "n1"},
					{"52:54:00:00:00:02", "10.9.0.12", "n2"}};
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 1, &err), PHX_DHCP_LIVE);
	place_write(&h->place, "run/dnsmasq/hosts/n1", "not looked at\n");
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "n2", &hosts[1], &err), PHX_DHCP_LIVE);
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "n2", &hosts[1], &err), PHX_DHCP_SAME);
	PHX_AUTO_FREE char *two = host_text(h, "n2");
	assert_string_equal(two, "52:54:00:00:00:02,10.9.0.12,n2\n");
	strcpy(hosts[1].ip, "10.9.0.22");
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "n2", &hosts[1], &err), PHX_DHCP_SIGHUP);
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "n2", NULL, &err), PHX_DHCP_SIGHUP);
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "n2", NULL, &err), PHX_DHCP_SAME);
	assert_null(host_text(h, "n2"));
	PHX_AUTO_FREE char *one = host_text(h, "n1");
	assert_string_equal(one, "not looked at\n");
	assert_string_equal(err.text, "");
	strcpy(hosts[1].ip, "10.9");
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "n2", &hosts[1], &err), -EINVAL);
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "../n2", NULL, &err), -EINVAL);
}

/* Where a card may go from one node to another, all files are to be made to agree. */
static void test_one_host_with_anothers_card(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	struct phx_dhcp_host hosts[] = {{"52:54:00:00:00:01", "10.9.0.11", "n1"},
					{"52:54:00:00:00:02", "10.9.0.12", "n2"}};
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 1, &err), PHX_DHCP_LIVE);
	strcpy(hosts[0].mac, "52:54:00:00:00:09");
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "n1", &hosts[0], &err), PHX_DHCP_ALL);
	PHX_AUTO_FREE char *before = host_text(h, "n1");
	assert_string_equal(before, "52:54:00:00:00:01,10.9.0.11,n1\n");
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 1, &err), PHX_DHCP_SIGHUP);
	/* n1's card of before is in another machine */
	strcpy(hosts[1].mac, "52:54:00:00:00:01");
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "n2", &hosts[1], &err), PHX_DHCP_ALL);
	assert_null(host_text(h, "n2"));
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, 2, &err), PHX_DHCP_SIGHUP);
	PHX_AUTO_FREE char *one = host_text(h, "n1");
	assert_string_equal(one, "52:54:00:00:00:09,10.9.0.11,n1\n");
	/* no entry has cards of before any more */
	assert_int_equal(phx_dhcp_host_sync(&h->cfg, "n2", NULL, &err), PHX_DHCP_SIGHUP);
}

static void test_what_is_no_ours_goes(void **state)
{
	struct head *h = *state;
	place_write(&h->place, "run/dnsmasq/hosts/stranger", "52:54:00:00:00:01,10.9.0.11\n");
	const struct phx_dhcp_host host = {"52:54:00:00:00:01", "10.9.0.11", "n1"};
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, &host, 1, NULL), PHX_DHCP_SIGHUP);
	assert_int_equal(count_hosts(h), 1);
}

static void test_bad_hosts_touch_nothing(void **state)
{
	struct head *h = *state;
	static const struct {
		struct phx_dhcp_host hosts[2];
		const char *says;
	} rows[] = {
		{{{"52:54:00:00:00:01", "10.9.0.11", "n1"},
		  {"52:54:00:00:00:01", "10.9.0.12", "n2"}},
		 "same MAC address"},
		{{{"52:54:00:00:00:01", "10.9.0.11", "n1"},
		  {"52:54:00:00:00:02", "10.9.0.11", "n2"}},
		 "same IP address"},
		{{{"52:54:00:00:00:01", "10.9.0.11", "n1"},
		  {"52:54:00:00:00:02", "10.9.0.12", "n1"}},
		 "same name"},
		{{{"52:54:00:00:00:01", "10.9.0.11", "n1"},
		  {"52-54-00-00-00-02", "10.9.0.12", "n2"}},
		 "no MAC address"},
		{{{"52:54:00:00:00:01", "10.9.0.11", "n1"}, {"52:54:00:00:00:02", "10.9.0", "n2"}},
		 "no IPv4 address"},
		{{{"52:54:00:00:00:01", "10.9.0.11", "n1"},
		  {"52:54:00:00:00:02", "10.9.0.12", "../n2"}},
		 "no name"},
		{{{"52:54:00:00:00:01", "10.9.0.11", "n1"}, {"52:54:00:00:00:02", "10.9.0.12", ""}},
		 "no name"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_err err = {0};
		assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, rows[i].hosts, 2, &err), -EINVAL);
		assert_contains(err.text, rows[i].says);
		assert_int_equal(count_hosts(h), 0);
	}
}

static void test_many_hosts(void **state)
{
	struct head *h = *state;
	enum { N = 2000 };
	PHX_AUTO_FREE struct phx_dhcp_host *hosts = calloc(N, sizeof(*hosts));
	for (int i = 0; i < N; i++) {
		snprintf(hosts[i].mac, sizeof(hosts[i].mac), "52:54:00:00:%02x:%02x", i >> 8,
			 i & 255);
		snprintf(hosts[i].ip, sizeof(hosts[i].ip), "10.9.%d.%d", 1 + (i >> 8), i & 255);
		snprintf(hosts[i].name, sizeof(hosts[i].name), "n%d", i);
	}
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, N, NULL), PHX_DHCP_LIVE);
	assert_int_equal(phx_dhcp_hosts_sync(&h->cfg, hosts, N, NULL), PHX_DHCP_SAME);
	assert_int_equal(count_hosts(h), N);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_HEAD(test_dhcp_mode),
		RUN_HEAD(test_without_the_extras),
		RUN_HEAD(test_proxy_mode),
		RUN_HEAD(test_limits_follow_the_nodes),
		RUN_HEAD(test_written_only_when_it_changes),
		RUN_HEAD(test_none_has_no_dnsmasq),
		RUN_HEAD(test_host_files),
		RUN_HEAD(test_a_replaced_card),
		RUN_HEAD(test_one_host),
		RUN_HEAD(test_one_host_with_anothers_card),
		RUN_HEAD(test_what_is_no_ours_goes),
		RUN_HEAD(test_bad_hosts_touch_nothing),
		RUN_HEAD(test_many_hosts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
