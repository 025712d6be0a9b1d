/* phoenix.conf and conf.d: defaults, merging, origins, and everything that is refused. */
#include "unit/config/help.h"

#include "config/config.h"
#include "types/role.h"

#define GOOD "interface = \"eth1\";\naddress = \"10.1.0.1\";\n"

static int load(struct place *p, struct phx_config *cfg, struct phx_err *err)
{
	char path[256];
	return phx_config_load(place_path(p, "phoenix.conf", path), cfg, err);
}

static void test_every_default_is_valid(void **state)
{
	(void)state;
	struct phx_config cfg;
	struct phx_err err = {0};
	assert_int_equal(phx_config_defaults("/etc/phoenix", &cfg, &err), 0);
	assert_string_equal(err.text, "");
	assert_string_equal(cfg.state_dir, "/var/lib/phoenix");
	assert_string_equal(cfg.image_dir, "/var/lib/phoenix/images");
	assert_string_equal(cfg.socket, "/run/phoenix/phxd.sock");
	assert_string_equal(cfg.role_dir, "/etc/phoenix/roles");
	assert_int_equal(cfg.http_port, 8080);
	assert_int_equal(cfg.https_port, 8443);
	assert_int_equal(cfg.heartbeat_ms, 2000);
	assert_int_equal(cfg.dhcp_mode, PHX_DHCP_SERVE);
	assert_int_equal(cfg.tftp, PHX_TFTP_INTFTPD);
	assert_false(cfg.auto_assign);
	assert_true(cfg.dhcp_ra);
	phx_config_fini(&cfg);
}

static void test_table_is_sound(void **state)
{
	(void)state;
	for (int i = 0; i < PHX_OPT_COUNT_; i++) {
		const struct phx_key *o = phx_option((enum phx_option_id)i)->key;
		assert_true(o->min <= o->max);
		assert_true(strlen(o->prose) > 10);
		assert_int_equal(o->prose[strlen(o->prose) - 1], '.');
		for (int k = 0; k < i; k++)
			assert_string_not_equal(o->name,
						phx_option((enum phx_option_id)k)->key->name);
	}
}

static void test_all_types_are_read(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	place_write(p, "phoenix.conf",
		    GOOD "prefix = 16;\ndhcp_range = \"10.1.2.1, 10.1.2.9\";\nserver_names = [ "
			 "\"head\", \"10.2.0.1\" ];\n"
			 "dhcp_mode = \"proxy\";\ntftp = \"dnsmasq\";\nauto_assign = "
			 "true;\nhttp_port = 80;\n"
			 "deploy_image = \"deploy-cloud\";\nstate_dir = \"/srv/phx\";\nkernel_args "
			 "= \"console=ttyS0\";\n");
	int r = load(p, &cfg, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_string_equal(cfg.address, "10.1.0.1");
	assert_int_equal(cfg.prefix, 16);
	assert_string_equal(cfg.dhcp_range.first, "10.1.2.1");
	assert_string_equal(cfg.dhcp_range.last, "10.1.2.9");
	assert_int_equal(cfg.server_names.n, 2);
	assert_string_equal(PHX_LIST_AT(&cfg.server_names, struct phx_word, 1)->text, "10.2.0.1");
	assert_int_equal(cfg.dhcp_mode, PHX_DHCP_PROXY);
	assert_int_equal(cfg.tftp, PHX_TFTP_DNSMASQ);
	assert_true(cfg.auto_assign);
	assert_int_equal(cfg.http_port, 80);
	assert_string_equal(cfg.deploy_image, "deploy-cloud");
	assert_string_equal(cfg.image_dir, "/srv/phx/images");
	assert_string_equal(cfg.kernel_args, "console=ttyS0");
	char roles[256];
	assert_string_equal(cfg.role_dir, place_path(p, "roles", roles));
	phx_config_fini(&cfg);
}

static void test_pools(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	place_write(p, "phoenix.conf",
		    GOOD "pools = ( { name = \"batch\"; owner = \"hpc\"; setup = { mode = "
			 "\"noop\"; }; } );\n");
	place_write(p, "conf.d/20-web.conf",
		    "pools = (\n { name = \"web\"; setup = { mode = \"wipe\"; method = "
		    "\"discard\"; when = \"both\"; "
		    "}; },\n"
		    " { name = \"spare\"; } );\n");
	assert_int_equal(load(p, &cfg, &err), 0);
	assert_int_equal(cfg.pools.n, 3);
	const struct phx_pool *pools = cfg.pools.items;
	assert_string_equal(pools[0].name, "batch");
	assert_string_equal(pools[0].owner, "hpc");
	assert_int_equal(pools[0].setup.mode, PHX_SETUP_NOOP);
	assert_int_equal(pools[1].setup.method, PHX_WIPE_DISCARD);
	assert_int_equal(pools[1].setup.when, PHX_WHEN_BOTH);
	/* silence means wiping */
	assert_int_equal(pools[2].setup.mode, PHX_SETUP_WIPE);
	assert_int_equal(pools[2].setup.when, PHX_WHEN_RELEASE);
	const struct phx_origin *o = PHX_LIST_AT(&cfg.pool_origins, struct phx_origin, 2);
	assert_int_equal(o->line, 3);
	assert_contains(o->file, "conf.d/20-web.conf");
	phx_config_fini(&cfg);
}

static void test_later_files_win(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	place_write(p, "phoenix.conf", GOOD "http_port = 81;\nserver_names = [ \"a\" ];\n");
	place_write(p, "conf.d/10-a.conf", "http_port = 82;\nheartbeat_ms = 500;\n");
	place_write(p, "conf.d/20-b.conf", "\nserver_names = [ \"b\", \"c\" ];\nhttp_port = 83;\n");
	place_write(p, "conf.d/.hidden.conf", "http_port = 84;\n");
	place_write(p, "conf.d/30-c.conf~", "http_port = 85;\n");
	assert_int_equal(load(p, &cfg, &err), 0);
	assert_int_equal(cfg.http_port, 83);
	assert_int_equal(cfg.heartbeat_ms, 500);
	assert_int_equal(cfg.server_names.n, 2);
	assert_int_equal(cfg.origins[PHX_OPT_http_port].line, 3);
	assert_contains(cfg.origins[PHX_OPT_http_port].file, "conf.d/20-b.conf");
	phx_config_fini(&cfg);
}

static const struct phx_config_line *find_line(const struct phx_list *lines, const char *key)
{
	PHX_LIST_EACH(struct phx_config_line, l, lines)
		if (!strcmp(l->key, key))
			return l;
	return NULL;
}

static void test_show_with_origin(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	struct phx_list lines;
	place_write(p, "phoenix.conf",
		    GOOD "dhcp_range = \"10.1.0.5,10.1.0.9\";\nauto_assign = true;\nserver_names = "
			 "[ \"a\", \"b\" ];\n"
			 "pools = ( { name = \"web\"; owner = \"w\"; } );\n");
	assert_int_equal(load(p, &cfg, &err), 0);
	assert_int_equal(phx_config_show(&cfg, &lines), 0);
	assert_int_equal(lines.n, PHX_OPT_COUNT_ + 1);
	assert_string_equal(find_line(&lines, "http_port")->value, "8080");
	assert_string_equal(find_line(&lines, "http_port")->origin, "default");
	assert_string_equal(find_line(&lines, "dhcp_range")->value, "10.1.0.5,10.1.0.9");
	assert_contains(find_line(&lines, "dhcp_range")->origin, "phoenix.conf:3");
	assert_string_equal(find_line(&lines, "auto_assign")->value, "true");
	assert_string_equal(find_line(&lines, "server_names")->value, "a b");
	assert_string_equal(find_line(&lines, "dhcp_mode")->value, "dhcp");
	assert_string_equal(find_line(&lines, "tftp")->value, "in.tftpd");
	assert_string_equal(find_line(&lines, "pools.web")->value,
			    "owner=w setup=wipe method=auto when=release verify=sample start=auto");
	assert_contains(find_line(&lines, "pools.web")->origin, "phoenix.conf:6");
	phx_list_fini(&lines);
	phx_config_fini(&cfg);
}

static void test_settings_for_the_core(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_settings s;
	place_write(p, "phoenix.conf",
		    GOOD "auto_assign = true;\nmissing_after_ms = 9000;\nrepairs_max = 5;\n");
	assert_int_equal(load(p, &cfg, NULL), 0);
	phx_config_settings(&cfg, &s);
	assert_true(s.auto_assign);
	assert_int_equal(s.missing_after_ms, 9000);
	assert_int_equal(s.repairs_max, 5);
	assert_string_equal(s.image_deploy, "deploy");
	assert_true(s.protects && s.protect.remote);
	assert_string_equal(s.protect.selectors, "");
	phx_config_fini(&cfg);
}

static void test_protected_disks(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_settings s;
	char much[2400] = GOOD "protected_disks = [ \"id=a\"";
	place_write(p, "phoenix.conf",
		    GOOD "protected_disks = [ \"id=wwn-0x5*, size=1TiB..\", \"serial=a b\" ];\n"
			 "protect_remote_disks = false;\n");
	assert_int_equal(load(p, &cfg, NULL), 0);
	phx_config_settings(&cfg, &s);
	assert_true(s.protects);
	assert_false(s.protect.remote);
	assert_string_equal(s.protect.selectors, "id=wwn-0x5*, size=1TiB..\nserial=a b");
	phx_config_fini(&cfg);
	for (int i = 0; i < 12; i++)
		snprintf(much + strlen(much), sizeof(much) - strlen(much), ", \"id=%0120d\"", 7);
	strcat(much, " ];\n");
	place_write(p, "phoenix.conf", much);
	struct phx_err err = {0};
	assert_int_equal(load(p, &cfg, &err), -EINVAL);
	assert_contains(err.text, "less than 1024 characters in all");
}

/* The silence after which a web node rests, and the time from there until it is taken out. */
static void test_rest_before_removal(void **state)
{
	static const struct {
		const char *text;
		uint32_t quiet_ms, rest_ms;
	} rows[] = {
		{"", 2500, 1000},
		{"balance_after_ms = 20000;\n", 10000, 10000},
		{"balance_after_ms = 20001;\n", 10000, 10001},
		{"balance_after_ms = 200;\n", 2500, 1000},
		{"heartbeat_ms = 500; balance_after_ms = 1600;\n", 1000, 1000},
		{"heartbeat_ms = 500; balance_after_ms = 3200;\n", 1600, 1600},
		{"heartbeat_ms = 60000; missing_after_ms = 120000; balance_after_ms = 600000;\n",
		 300000, 300000},
	};
	struct place *p = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_config cfg;
		struct phx_settings s;
		char text[300];
		snprintf(text, sizeof(text), "%s%s", GOOD, rows[i].text);
		place_write(p, "phoenix.conf", text);
		assert_int_equal(load(p, &cfg, NULL), 0);
		phx_config_settings(&cfg, &s);
		assert_int_equal(phx_config_quiet_ms(&cfg), rows[i].quiet_ms);
		assert_int_equal(s.balance_rest_ms, rows[i].rest_ms);
		phx_config_fini(&cfg);
	}
}

/* What is wrong, in which line, and what the text must say. */
static const struct bad {
	const char *text;
	const char *place, *says;
} bads[] = {
	{GOOD "htp_port = 80;\n", "phoenix.conf:3", "unknown key 'htp_port'"},
	{GOOD "http_ports = 80;\n", "phoenix.conf:3", "'http_port' meant?"},
	{GOOD "\nhttp_port = \"80\";\n", "phoenix.conf:4",
	 "is a text; it must be a whole number from 1 to 65535"},
	{GOOD "http_port = 0;\n", "phoenix.conf:3",
	 "http_port is 0; it must be a whole number from 1 to 65535"},
	{GOOD "http_port = 70000;\n", "phoenix.conf:3", "from 1 to 65535"},
	{GOOD "http_port = -1;\n", "phoenix.conf:3", "http_port is -1"},
	{GOOD "http_port = 80.5;\n", "phoenix.conf:3", "is a fraction"},
	{GOOD "person_cert_days_max = 0;\n", "phoenix.conf:3",
	 "person_cert_days_max is 0; it must be a whole number from 1 to 3650"},
	{GOOD "person_cert_days_max = 3651;\n", "phoenix.conf:3",
	 "is 3651; it must be a whole number from 1 to 3650"},
	{GOOD "person_cert_days_max = \"1y\";\n", "phoenix.conf:3", "from 1 to 3650"},
	{GOOD "snapshot_every = 5000000000;\n", "phoenix.conf:3", "needs an L behind it"},
	{GOOD "http_port = 4294975376;\n", "phoenix.conf:3", "needs an L behind it"},
	{GOOD "http_port = 99999999999999999999;\n", "phoenix.conf:3", "does not fit into 64 bits"},
	{GOOD "auto_assign = 1;\n", "phoenix.conf:3", "it must be true or false"},
	{GOOD "auto_assign = \"yes\";\n", "phoenix.conf:3", "it must be true or false"},
	{GOOD "state_dir = \"var/lib\";\n", "phoenix.conf:3", "must be an absolute path"},
	{GOOD "state_dir = \"\";\n", "phoenix.conf:3", "it must have 1 to 200"},
	{GOOD "state_dir = \"/a b\";\n", "phoenix.conf:3", "must not hold ' '"},
	{GOOD "state_dir = [ \"/a\" ];\n", "phoenix.conf:3", "is an array; it must be a text"},
	{GOOD "domain = \"a\\nb\";\n", "phoenix.conf:3", "control character"},
	{GOOD "domain = \"a,b\";\n", "phoenix.conf:3", "must be a domain name"},
	{GOOD "dhcp_mode = \"server\";\n", "phoenix.conf:3", "dhcp"},
	{GOOD "tftp = \"yes\";\n", "phoenix.conf:3", "in.tftpd"},
	{GOOD "tftp = \"dnsmasq\";\ndhcp_mode = \"none\";\n", "phoenix.conf:3", "needs dnsmasq"},
	{GOOD "server_names = \"a\";\n", "phoenix.conf:3", "it must be a list of texts"},
	{GOOD "server_names = [ 1, 2 ];\n", "phoenix.conf:3", "server_names"},
	{GOOD "dhcp_range = \"10.1.0.5\";\n", "phoenix.conf:3", "must be two IPv4 addresses"},
	{GOOD "dhcp_range = \"10.1.0.5,10.1.0.300\";\n", "phoenix.conf:3",
	 "must be two IPv4 addresses"},
	{GOOD "dhcp_range = \"10.2.0.5,10.2.0.9\";\n", "phoenix.conf:3",
	 "in the network of address"},
	{GOOD "dhcp_range = \"10.1.0.9,10.1.0.5\";\n", "phoenix.conf:3", "lower address"},
	{GOOD "dhcp_range = \"10.1.0.1,10.1.0.5\";\n", "phoenix.conf:3", "the head's own address"},
	{GOOD "gateway = \"10.2.0.1\";\n", "phoenix.conf:3", "in the network of address"},
	{GOOD "address = \"10.1.0.2\";\n", "phoenix.conf:3", "duplicate"},
	{GOOD "https_port = 8080;\n", "phoenix.conf:3", "must differ from http_port"},
	{GOOD "heartbeat_ms = 5000;\nmissing_after_ms = 6000;\n", "phoenix.conf:4",
	 "twice heartbeat_ms"},
	{GOOD "\nheartbeat_ms = 5000;\n", "phoenix.conf:4",
	 "missing_after_ms must be at least twice heartbeat_ms"},
	{GOOD "restart_silent_s = 60;\n", "phoenix.conf:3", "longer than job_lease_s"},
	{GOOD "missing_after_ms = 90000;\nrestart_silent_s = 80;\n", "phoenix.conf:4",
	 "restart_silent_s must be 0, or longer than job_lease_s and missing_after_ms"},
	{GOOD "protected_disks = [ \"id=a\", \"bus=fc\" ];\n", "phoenix.conf:3",
	 "protected_disks: \"bus=fc\": must be KEY=VALUE"},
	{GOOD "protected_disks = [ \"size=much\" ];\n", "phoenix.conf:3", "size=100GiB..2TiB"},
	{GOOD "http_port = 8443;\n", "phoenix.conf:3", "https_port must differ from http_port"},
	{GOOD "deploy_image = \"../x\";\n", "phoenix.conf:3", "is no name"},
	{GOOD "run_dir = \"{state_dir}/run\";\nstate_dir = \"{run_dir}/x\";\n", "",
	 "may not begin with each other"},
	{GOOD "http_port = 80\nhttps_port 443;\n", "phoenix.conf:4", "syntax error"},
	{GOOD "domain = \"never closed;\n\n", "phoenix.conf:3", "no closing"},
	{GOOD "@include \"x.conf\"\n", "phoenix.conf:3", "no @include here"},
	{GOOD "domain = \"\xff\";\n", "phoenix.conf:3", "not UTF-8"},
	{"interface = \"eth1\";\n", "phoenix.conf: ", "address is missing"},
	{"address = \"10.1.0.1\";\n", "phoenix.conf: ", "interface is missing"},
	{"address = \"10.1.0\";\n", "phoenix.conf:1", "must be an IPv4 address"},
	{GOOD "interface2 = \"a b\";\n", "phoenix.conf:3", "'interface' meant?"},
	{GOOD "pools = { name = \"a\"; };\n", "phoenix.conf:3", "it must be a list"},
	{GOOD "pools = ( \"a\" );\n", "phoenix.conf:3", "it must be a group"},
	{GOOD "pools = ( { owner = \"a\"; } );\n", "phoenix.conf:3", "name is missing"},
	{GOOD "pools = ( { name = \"a b\"; } );\n", "phoenix.conf:3", "is no name"},
	{GOOD "pools = (\n{ name = \"a\"; },\n{ name = \"a\"; } );\n", "phoenix.conf:5",
	 "already at"},
	{GOOD "pools = (\n{ name = \"a\"; setup = { mode = \"erase\"; }; } );\n", "phoenix.conf:4",
	 "there are: noop, "},
	{GOOD "pools = ( { name = \"a\"; setup = {\nmode = \"wipe\";\nmethod = \"burn\"; }; } );\n",
	 "phoenix.conf:5", "secure-erase"},
	{GOOD "pools = ( { name = \"a\"; setup = { mode = \"wipe\";\nwen = \"both\"; }; } );\n",
	 "phoenix.conf:4", "unknown key 'wen'; known here: mode, method, when"},
};

static void test_bad_files_are_refused_by_line(void **state)
{
	struct place *p = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bads); i++) {
		struct phx_config cfg;
		struct phx_err err = {0};
		memset(&cfg, 0x5a, sizeof(cfg));
		place_write(p, "phoenix.conf", bads[i].text);
		int r = load(p, &cfg, &err);
		if (r != -EINVAL)
			fail_msg("row %zu: %d \"%s\"", i, r, err.text);
		assert_contains(err.text, bads[i].place);
		assert_contains(err.text, bads[i].says);
		/* untouched */
		for (size_t k = 0; k < sizeof(cfg); k++)
			assert_int_equal(((unsigned char *)&cfg)[k], 0x5a);
	}
}

static void test_bad_file_in_conf_d(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	place_write(p, "phoenix.conf", GOOD);
	place_write(p, "conf.d/a.conf", "# fine\n\nhttp_port = true;\n");
	assert_int_equal(load(p, &cfg, &err), -EINVAL);
	assert_contains(err.text, "conf.d/a.conf:3: http_port is a boolean");
}

static void test_files_that_are_none(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	assert_int_equal(load(p, &cfg, &err), -ENOENT);
	assert_contains(err.text, "phoenix.conf: No such file");
	place_write_n(p, "phoenix.conf", "a\0b", 3);
	phx_err_clear(&err);
	assert_int_equal(load(p, &cfg, &err), -EINVAL);
	assert_contains(err.text, "phoenix.conf:1: there is a NUL byte");
	char *big = calloc(1, 2 << 20);
	memset(big, '\n', 2 << 20);
	place_write_n(p, "phoenix.conf", big, 2 << 20);
	free(big);
	phx_err_clear(&err);
	assert_int_equal(load(p, &cfg, &err), -EFBIG);
	/* without a text to write to */
	place_write(p, "phoenix.conf", "x = 1;\n");
	assert_int_equal(load(p, &cfg, NULL), -EINVAL);
}

/* Shape of numbers, comments and strings that the check before libconfig must understand. */
static void test_scan_knows_the_language(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	place_write(
		p, "phoenix.conf",
		"# 5000000000 @include \"x\n// 5000000000\n/* 5000000000\n@include */\n" GOOD
		"domain = \"5000000000\" \".x-1\";\nkernel_args = \"a=\\\"5000000000\\\" @x\";\n"
		"http_port = 0x50; snapshot_every = 1000L; # \xc3\xa9\n");
	int r = load(p, &cfg, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_string_equal(cfg.domain, "5000000000.x-1");
	assert_string_equal(cfg.kernel_args, "a=\"5000000000\" @x");
	assert_int_equal(cfg.http_port, 0x50);
	assert_int_equal(cfg.snapshot_every, 1000);
	phx_config_fini(&cfg);
}

/* Cut at each byte: an error or a valid configuration, never a crash. */
static void test_truncated_at_every_byte(void **state)
{
	struct place *p = *state;
	static const char text[] = GOOD "server_names = [ \"a\", \"b\" ];\npools = ( { name = "
					"\"w\"; setup = { mode = \"wipe\"; }; } );\n"
					"# end /* x */\nhttp_port = 0x1f90;\n";
	for (size_t n = 0; n < sizeof(text); n++) {
		struct phx_config cfg;
		struct phx_err err = {0};
		place_write_n(p, "phoenix.conf", text, n);
		if (load(p, &cfg, &err) == 0)
			phx_config_fini(&cfg);
		else
			assert_contains(err.text, "phoenix.conf");
	}
}

static void test_shipped_example(void **state)
{
	(void)state;
	struct phx_config cfg;
	struct phx_err err = {0};
	int r = phx_config_load(TEST_DIR "/../etc/phoenix.conf", &cfg, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_int_equal(cfg.pools.n, 3);
	phx_config_fini(&cfg);
}

static void test_addresses_of_nodes(void **state)
{
	static const struct {
		const char *ip, *wrong; /* NULL: it may be a node's */
		/* it may be where the site's own DHCP server gives the addresses */
		bool elsewhere;
	} rows[] = {
		{"10.1.0.20", NULL, true},
		{"10.1.3.254", NULL, true},
		{"10.1.0.1", "the head's own", false},
		{"10.1.0.254", "the router's", false},
		{"10.1.4.1", "outside of the provisioning network, 10.1.0.1/22", true},
		{"192.168.1.5", "outside", true},
		{"10.1.0.0", "no address that a machine", false},
		{"10.1.3.255", "no address that a machine", false},
		{"0.0.0.0", "no address that a machine", false},
		{"127.0.0.5", "no address that a machine", false},
		{"224.0.0.1", "no address that a machine", false},
		{"255.255.255.255", "no address that a machine", false},
		{"10.1.0", "no IPv4 address", false},
		{"fd77::2", "no IPv4 address", false},
	};
	struct phx_config cfg = {.address = "10.1.0.1", .gateway = "10.1.0.254", .prefix = 22};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_err err = {0};
		cfg.dhcp_mode = PHX_DHCP_SERVE;
		assert_int_equal(phx_config_check_ip(&cfg, rows[i].ip, &err),
				 rows[i].wrong ? -EINVAL : 0);
		assert_true(!rows[i].wrong || strstr(err.text, rows[i].wrong));
		cfg.dhcp_mode = PHX_DHCP_NONE;
		assert_int_equal(phx_config_check_ip(&cfg, rows[i].ip, NULL),
				 rows[i].elsewhere ? 0 : -EINVAL);
	}
	PHX_STR_SET(cfg.address, "127.0.0.1");
	assert_int_equal(phx_config_check_ip(&cfg, "127.0.0.5", NULL), 0);
	assert_int_equal(phx_config_check_ip(&cfg, "127.0.0.1", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_of_nodes),
		cmocka_unit_test(test_every_default_is_valid),
		cmocka_unit_test(test_table_is_sound),
		RUN(test_all_types_are_read),
		RUN(test_pools),
		RUN(test_later_files_win),
		RUN(test_show_with_origin),
		RUN(test_settings_for_the_core),
		RUN(test_protected_disks),
		RUN(test_rest_before_removal),
		RUN(test_bad_files_are_refused_by_line),
		RUN(test_bad_file_in_conf_d),
		RUN(test_files_that_are_none),
		RUN(test_scan_knows_the_language),
		RUN(test_truncated_at_every_byte),
		cmocka_unit_test(test_shipped_example),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
