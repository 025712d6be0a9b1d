/* phx node show and phx node erasures: one node in full, for people. Changes nothing. */

#include "base/file.h"
#include "base/json.h"
#include "types/pci.h"
#include "phx/cli.h"

/* ---- show ---- */

static void put_macs(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	size_t i;
	json_t *mac;
	json_array_foreach((json_t *)value, i, mac) {
		phx_buf_addf(b, "%s", i ? ", " : "");
		cli_put_clean(b, phx_json_str(mac, "mac", ""));
	}
}

static void put_state(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *reason = phx_json_str(row, "reason", "");
	cli_put_clean(b, json_string_value(value) ? json_string_value(value) : "?");
	if (*reason) {
		phx_buf_addf(b, ": ");
		cli_put_clean(b, reason);
	}
	if (phx_json_int(row, "maintained_until_ms", 0) &&
	    phx_str_eq(json_string_value(value) ? json_string_value(value) : "", "maintenance")) {
		phx_buf_addf(b, ", until ");
		cli_put_when(b, json_object_get(row, "maintained_until_ms"), row);
	}
	if (phx_json_bool(row, "pinned", false))
		phx_buf_addf(b, " (pinned)");
	if (phx_json_bool(row, "hold", false))
		phx_buf_addf(b, " (held until accepted)");
}

static void put_up(struct phx_buf *b, const json_t *value, const json_t *row)
{
	static const struct {
		const char *env, *text;
	} envs[] = {{"deploy", "in the deploy environment"}, {"os", "in the installed system"}};
	bool up = json_is_true(value);
	phx_buf_addf(b, "%s", up ? "yes" : "no");
	for (size_t i = 0; up && i < PHX_ARRAY_SIZE(envs); i++)
		if (phx_str_eq(phx_json_str(row, "env", ""), envs[i].env))
			phx_buf_addf(b, ", %s", envs[i].text);
	const json_t *since = json_object_get(row, up ? "up_since_ms" : "missing_since_ms");
	if (json_integer_value(since) > 0) {
		phx_buf_addf(b, ", for ");
		cli_put_since(b, since, row);
	}
	if (!up && phx_json_int(row, "claimed_ms", 0))
		phx_buf_addf(b, CLI_CLAIMED);
}

static void put_power(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const json_t *bmc = json_object_get(row, "bmc");
	const char *driver = phx_json_str(bmc, "driver", ""),
		   *address = phx_json_str(bmc, "address", "");
	cli_put_clean(b, json_string_value(value) ? json_string_value(value) : "?");
	if (*driver) {
		phx_buf_addf(b, " (%s%s", driver, *address ? " " : "");
		cli_put_clean(b, address);
		phx_buf_addf(b, ")");
	} else if (bmc) {
		/* who may not see it is not told that there is none */
		phx_buf_addf(b, " (no BMC)");
	}
	if (phx_json_int(row, "soft_until_ms", 0))
		phx_buf_addf(b, ", switches itself off");
	const char *failed = phx_json_str(row, "soft_failed", "");
	phx_buf_addf(b, "%s", *failed ? ", is not off: " : "");
	cli_put_clean(b, failed);
}

static void put_health(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *text = phx_json_str(row, "health_text", "");
	if (!*phx_json_str(row, "role", ""))
		return;
	phx_buf_addf(b, "%s%s", json_is_true(value) ? "healthy" : "not healthy", *text ? ": " : "");
	cli_put_clean(b, text);
}

static void put_drift(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (*phx_json_str(row, "expected", "") || *phx_json_str(row, "actual_identity", ""))
		cli_put_yes(b, value, row);
}

static void put_disk_system(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *key = phx_json_str(row, "disk_key_id", "");
	cli_put_clean(b, json_string_value(value) ? json_string_value(value) : "");
	if (*key)
		phx_buf_addf(b, " (encrypted with key %s%s)", key,
			     phx_json_bool(row, "key_unread", false) ? ": destroyed, unread" : "");
}

static void put_tenant(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (!phx_json_bool(row, "dirty", false))
		return;
	cli_put_clean(b,
		      json_string_value(value) && *json_string_value(value)
			      ? json_string_value(value)
			      : "yes");
	phx_buf_addf(b, ", pool %s", phx_json_str(row, "tenant_pool", "?"));
}

static void put_cpus(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (json_integer_value(value) <= 0)
		return;
	long long cores = json_integer_value(cli_member(row, "facts.cores"));
	long long sockets = json_integer_value(cli_member(row, "facts.sockets"));
	phx_buf_addf(b, "%lld", (long long)json_integer_value(value));
	if (cores && sockets)
		phx_buf_addf(b, " (%lld cores, %lld sockets)", cores, sockets);
	const char *model = phx_json_str(json_object_get(row, "facts"), "cpu_model", "");
	phx_buf_addf(b, "%s", *model ? " " : "");
	cli_put_clean(b, model);
}

/* "network 8086:1593": what the running system leaves unused; phx node hardware has names. */
static void put_unused(struct phx_buf *b, const json_t *value, const json_t *row)
{
	size_t i, n = 0;
	json_t *j;
	(void)row;
	json_array_foreach((json_t *)value, i, j) {
		const struct phx_pci_facts d = {.class_code =
							(uint32_t)phx_json_int(j, "class_code", 0),
						.vendor = (uint32_t)phx_json_int(j, "vendor", 0)};
		const char *kind = phx_pci_kind(&d);
		if (*phx_json_str(j, "driver", ""))
			continue;
		phx_buf_addf(b, "%s%s %04x:%04x", n++ ? ", " : "", kind ? kind : "PCI",
			     d.vendor & 0xffff, (unsigned)phx_json_int(j, "device", 0) & 0xffff);
	}
}

static void put_tpm(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const json_t *tpm = json_array_get(value, 0);
	(void)row;
	if (tpm)
		phx_buf_addf(b, "signs its erases with %.23s",
			     phx_json_str(tpm, "key", "a key that is not shown"));
}

static void put_machine(struct phx_buf *b, const json_t *value, const json_t *row)
{
	cli_put_clean(b, json_string_value(value) ? json_string_value(value) : "");
	phx_buf_addf(b, " ");
	cli_put_clean(b, phx_json_str(json_object_get(row, "facts"), "product", ""));
}

/* Services that die and are started again: the node may be healthy whenever one looks. */
static void put_restarts(struct phx_buf *b, const json_t *value, const json_t *row)
{
	int64_t n = phx_json_int(value, "restarts", 0);
	(void)row;
	if (n <= 0)
		return;
	phx_buf_addf(b, "%lld of its services, last: ", (long long)n);
	cli_put_clean(b, phx_json_str(value, "last_end", "?"));
}

static void put_load(struct phx_buf *b, const json_t *value, const json_t *row)
{
	char used[32], total[32];
	if (!json_is_object(value) || !json_object_size(value))
		return;
	int64_t all = phx_json_int(value, "memory_total_bytes", 0);
	int64_t left = phx_json_int(value, "memory_available_bytes", 0);
	(void)row;
	phx_buf_addf(b, "CPU %.1f %%, load %.2f, memory %s of %s",
		     (double)phx_json_int(value, "cpu_permille", 0) / 10,
		     (double)phx_json_int(value, "load1_centi", 0) / 100,
		     phx_size_format((uint64_t)(all > left ? all - left : 0), used, sizeof(used)),
		     phx_size_format((uint64_t)all, total, sizeof(total)));
}

/* A system that runs under another kernel than its image's was started by somebody else. */
static void put_kernel(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *runs = json_string_value(value), *own = phx_json_str(row, "system_kernel", "");
	bool in_system = phx_str_eq(phx_json_str(row, "env", ""), "os");
	cli_put_clean(b, runs ? runs : "");
	if (in_system && runs && *runs && *own && !phx_str_eq(runs, own)) {
		phx_buf_addf(b, ", and not that of its image: ");
		cli_put_clean(b, own);
	}
}

static const struct cli_column lines[] = {
	{.head = "State", .path = "state", .put = put_state},
	{.head = "Pool", .path = "pool"},
	{.head = "Labels", .path = "labels", .put = cli_put_labels},
	{.head = "Role", .path = "role"},
	{.head = "  expected", .path = "expected"},
	{.head = "  actual", .path = "actual_identity"},
	{.head = "  drift", .path = "drift", .put = put_drift},
	{.head = "Reboot", .path = "turn", .put = cli_put_turn},
	{.head = "Check", .path = "checks", .put = cli_put_checked},
	{.head = "Health", .path = "healthy", .put = put_health},
	{.head = "Site", .path = "site"},
	{.head = "Restarts", .path = "monitor", .put = put_restarts},
	{.head = "Load", .path = "monitor", .put = put_load},
	{.head = "Up", .path = "up", .put = put_up},
	{.head = "Power", .path = "power", .put = put_power},
	{.head = "MAC", .path = "macs", .put = put_macs},
	{.head = "Serial", .path = "serial"},
	{.head = "UUID", .path = "uuid"},
	{.head = "IP", .path = "ip"},
	{.head = "Address", .path = "address"},
	{.head = "Key", .path = "key_fp"},
	{.head = "Boot id", .path = "boot_id"},
	{.head = "Agent", .path = "agent_version"},
	{.head = "Installed", .path = "system_image", .put = put_disk_system},
	{.head = "  on disk", .path = "system_disk"},
	{.head = "Data of", .path = "tenant", .put = put_tenant},
	{.head = "Machine", .path = "facts.vendor", .put = put_machine},
	{.head = "TPM", .path = "tpms", .put = put_tpm},
	{.head = "CPUs", .path = "facts.cpus", .put = put_cpus},
	{.head = "Memory", .path = "facts.memory_bytes", .put = cli_put_size},
	{.head = "No driver", .path = "facts.pci", .put = put_unused},
	{.head = "Own BMC", .path = "facts.bmc_address"},
	{.head = "Firmware", .path = "facts.firmware"},
	{.head = "Boot mode", .path = "facts.boot_mode"},
	{.head = "OS", .path = "facts.os"},
	{.head = "Kernel", .path = "facts.kernel", .put = put_kernel},
};

/* What the disk can do, for a wipe. */
static void put_abilities(struct phx_buf *b, const json_t *value, const json_t *row)
{
	static const struct {
		const char *key, *text;
	} abilities[] = {
		{"can_discard", "discard"},
		{"can_ata_secure_erase", "ata-secure-erase"},
		{"can_ata_sanitize", "ata-sanitize"},
		{"can_nvme_format", "nvme-format"},
		{"can_nvme_sanitize", "nvme-sanitize"},
		{"read_only", "READ-ONLY"},
		{"removable", "removable"},
		{"remote", "REMOTE"},
	};
	(void)value;
	const char *separator = "";
	for (size_t i = 0; i < PHX_ARRAY_SIZE(abilities); i++) {
		if (!phx_json_bool(row, abilities[i].key, false))
			continue;
		phx_buf_addf(b, "%s%s", separator, abilities[i].text);
		separator = " ";
	}
}

/* "fc, 4 paths"; an agent of before says but whose commands it takes. */
static void put_reached(struct phx_buf *b, const json_t *value, const json_t *row)
{
	int64_t n = phx_json_int(row, "n_paths", 0);
	const char *transport = phx_json_str(row, "transport", "");
	(void)value;
	cli_put_clean(b, *transport ? transport : phx_json_str(row, "bus", ""));
	if (n > 1)
		phx_buf_addf(b, ", %lld paths", (long long)n);
}

static const struct cli_column left_columns[] = {
	{.head = "LEFT UNERASED", .path = "id"},
	{.head = "SIZE", .path = "size_bytes", .put = cli_put_size, .right = true},
	{.head = "AS PROTECTED BY", .path = "left"},
};

/* What was left when the others were erased last: it is there still. */
static int print_left(struct cli *cli, const json_t *known)
{
	PHX_AUTO_JSON json_t *left = json_array();
	size_t i;
	json_t *disk;
	json_array_foreach((json_t *)known, i, disk) {
		if (*phx_json_str(disk, "left", ""))
			json_array_append(left, disk);
	}
	if (!json_array_size(left))
		return CLI_OK;
	putchar('\n');
	return cli_print_table(cli, left_columns, PHX_ARRAY_SIZE(left_columns), left, 2);
}

static const struct cli_column disk_columns[] = {
	{.head = "DISK", .path = "id"},
	{.head = "DEV", .path = "dev"},
	{.head = "SIZE", .path = "size_bytes", .put = cli_put_size, .right = true},
	{.head = "BUS", .path = "transport", .put = put_reached},
	{.head = "MODEL", .path = "model"},
	{.head = "CAN", .path = "", .put = put_abilities},
};

static const struct cli_column nic_columns[] = {
	{.head = "NIC", .path = "mac"},
	{.head = "DEV", .path = "dev"},
	{.head = "DRIVER", .path = "driver"},
	{.head = "LINK", .path = "link", .put = cli_put_yes},
	{.head = "MBIT/S", .path = "speed_mbps", .right = true},
	{.head = "SWITCH", .path = "neighbor"},
	{.head = "PORT", .path = "neighbor_port"},
};

static int print_plan(struct cli *cli, const json_t *plan)
{
	if (!json_array_size(json_object_get(plan, "steps")))
		return CLI_OK;
	const char *role = phx_json_str(plan, "to_role", "");
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	bool active = cli_plan_active(plan);
	if (active)
		cli_put_since(&b, json_object_get(plan, "started_ms"), plan);
	phx_buf_addf(&b, "%sabout ", b.n ? " of " : "");
	cli_put_duration(&b, phx_json_int(plan, "expected_ms", 0));
	printf("\n  %s %lld: %s%s%s, %s: %s; %s\n", active ? "Plan" : "Last plan",
	       (long long)phx_json_int(plan, "epoch", 0), phx_json_str(plan, "request", "?"),
	       *role ? " " : "", role, phx_json_str(plan, "tier", "?"),
	       phx_json_str(plan, "reason", ""), b.data ? b.data : "");
	const char *cause = phx_json_str(plan, "cause", "");
	if (*cause)
		printf("  Because: %s\n", cause);
	return cli_plan_steps(cli, plan);
}

static int print_node(struct cli *cli, const json_t *node)
{
	printf("%s\n", phx_json_str(node, "name", "?"));
	cli_print_lines(lines, PHX_ARRAY_SIZE(lines), node);
	const json_t *disks = cli_member(node, "facts.disks"),
		     *nics = cli_member(node, "facts.nics");
	int code = cli_print_notes(cli, json_object_get(node, "notes"));
	if (json_array_size(disks))
		putchar('\n');
	code = code ? code
		    : cli_print_table(cli, disk_columns, PHX_ARRAY_SIZE(disk_columns), disks, 2);
	if (!code)
		code = print_left(cli, json_object_get(node, "known_disks"));
	if (json_array_size(nics))
		putchar('\n');
	if (!code)
		code = cli_print_table(cli, nic_columns, PHX_ARRAY_SIZE(nic_columns), nics, 2);
	if (!code)
		code = cli_checks_print(cli, json_object_get(node, "checks"));
	return code ? code : print_plan(cli, json_object_get(node, "plan"));
}

/* The same for programs: a value a column. */
static const struct cli_column plain_columns[] = {
	{.head = "NODE", .path = "name"},
	{.head = "STATE", .path = "state"},
	{.head = "REASON", .path = "reason"},
	{.head = "POOL", .path = "pool"},
	{.head = "LABELS", .path = "labels", .put = cli_put_labels},
	{.head = "PINNED", .path = "pinned", .put = cli_put_yes},
	{.head = "ROLE", .path = "role"},
	{.head = "EXPECTED", .path = "expected"},
	{.head = "ACTUAL", .path = "actual_identity"},
	{.head = "DRIFT", .path = "drift", .put = cli_put_yes},
	{.head = "HEALTHY", .path = "healthy", .put = cli_put_yes},
	{.head = "HEALTH", .path = "health_text"},
	{.head = "SITE", .path = "site"},
	{.head = "CHECK", .path = "checks", .put = cli_put_checked},
	{.head = "UP", .path = "up", .put = cli_put_yes},
	{.head = "ENV", .path = "env"},
	{.head = "POWER", .path = "power"},
	{.head = "MAC", .path = "macs", .put = put_macs},
	{.head = "SERIAL", .path = "serial"},
	{.head = "UUID", .path = "uuid"},
	{.head = "IP", .path = "ip"},
	{.head = "ADDRESS", .path = "address"},
	{.head = "KEY", .path = "key_fp"},
	{.head = "BOOT ID", .path = "boot_id"},
	{.head = "IMAGE", .path = "system_image"},
	{.head = "SYSTEM DISK", .path = "system_disk"},
	{.head = "DISK KEY", .path = "disk_key_id"},
	{.head = "VENDOR", .path = "facts.vendor"},
	{.head = "PRODUCT", .path = "facts.product"},
	{.head = "CPUS", .path = "facts.cpus", .right = true},
	{.head = "CPU", .path = "facts.cpu_model"},
	{.head = "MEMORY", .path = "facts.memory_bytes", .put = cli_put_size, .right = true},
	{.head = "FIRMWARE", .path = "facts.firmware"},
	{.head = "BOOT MODE", .path = "facts.boot_mode"},
	{.head = "OS", .path = "facts.os"},
	{.head = "KERNEL", .path = "facts.kernel"},
};

int cmd_node_show(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	int code = cli_nodes_select(cli, cli_arg(cli, 0), NULL, &nodes);
	if (code)
		return code;
	/* the same shape however many there are */
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "nodes", nodes);
	if (cli->format != CLI_TABLE && cli->format != CLI_WIDE)
		return cli_print_rows(cli, plain_columns, PHX_ARRAY_SIZE(plain_columns), nodes,
				      whole);
	size_t i;
	json_t *node;
	json_array_foreach(nodes, i, node) {
		if (i)
			putchar('\n');
		if (!code)
			code = print_node(cli, node);
	}
	return code;
}

/* ---- erasures ---- */

static const struct cli_column erasure_columns[] = {
	{.head = "NODE", .path = "node"},
	{.head = "WHEN", .path = "time_ms", .put = cli_put_when},
	{.head = "DISK", .path = "disk"},
	{.head = "METHOD", .path = "method"},
	{.head = "SIZE", .path = "size_bytes", .put = cli_put_size, .right = true},
	{.head = "READ BACK", .path = "verified_bytes", .put = cli_put_size, .right = true},
	{.head = "SIGNATURE", .path = "signature", .put = cli_put_digest},
	{.head = "OF", .path = "from_owner"},
	{.head = "FOR", .path = "to_owner", .wide = true},
	{.head = "USED", .path = "used", .wide = true},
	{.head = "TRIED", .path = "tried", .wide = true},
	{.head = "HIDDEN", .path = "hidden", .wide = true},
	{.head = "PLACES", .path = "places", .wide = true, .right = true},
	{.head = "SUM", .path = "read_sha256", .put = cli_put_digest, .wide = true},
	{.head = "NONCE", .path = "nonce", .wide = true, .right = true},
	{.head = "STEP", .path = "step_id", .wide = true, .right = true},
	{.head = "EPOCH", .path = "epoch", .wide = true, .right = true},
	{.head = "TEXT", .path = "text"},
};

int cmd_node_erasures(struct cli *cli)
{
	PHX_AUTO_JSON json_t *rows = json_array();
	struct phx_nodeset names = {0};
	int code = cli_nodes_names(cli, cli_arg(cli, 0), &names);
	for (uint32_t i = 0; !code && i < names.n; i++) {
		PHX_AUTO_JSON json_t *answer = NULL;
		PHX_AUTO_FREE char *path = phx_path("/v1/nodes/%s/erasures", names.names[i]);
		code = path ? cli_get(cli, path, &answer) : cli_fail(CLI_PARTIAL, "out of memory");
		if (!code)
			json_array_extend(rows, json_object_get(answer, "erasures"));
	}
	phx_nodeset_fini(&names);
	if (code)
		return code;
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "erasures", rows);
	return cli_print_rows(cli, erasure_columns, PHX_ARRAY_SIZE(erasure_columns), rows, whole);
}
