/* The agent onto machines that run and have no agent yet, over SSH.
 *
 *   verify, unpack ─▶ one tar ─▶ per host: who is it? ─▶ announce ─▶ copy, configure ─▶ start
 *   ─▶ wait: enrolled
 *
 * The host key vouches for the machine, so the machine is announced by its MACs
 * and a token that is made here and goes nowhere else. Nothing of a package is
 * run on this machine. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "phx/push.h"
#include "pki/ring.h"
#include "repo/repo.h"
#include "ssh/ssh.h"

enum {
	TOKEN_BYTES = 24,
	ENROL_SECONDS = 120,
	PEM_MAX = 65536,
	SSH_TIMEOUT_MS = 60000,
	CALL_TIMEOUT_MS = 10000
};

#define AGENT_UNIT "share/phx-agent.service"

struct push {
	struct cli *cli;
	/* of the head's configuration, as phxd tells it */
	const char *pki_dir, *address, *https_port, *http_port;
	char *work;                         /* temporary directory of this run */
	char *tree;                         /* the unpacked package */
	char *tar;                          /* of it */
	char *ca, *site_pub, *package_keys; /* texts */
	char *conf;                         /* agent.conf */
};

static void push_fini(struct push *p)
{
	if (p->work)
		phx_dir_remove(p->work, NULL);
	free(p->work);
	free(p->tree);
	free(p->tar);
	free(p->ca);
	free(p->site_pub);
	free(p->package_keys);
	free(p->conf);
}

/* ---- here: the package as a tar that any machine can read ---- */

static int make_tar(struct push *p, struct phx_err *err)
{
	const char *const argv[] = {"tar",       "--create", "--file", p->tar, "--owner=0",
				    "--group=0", "-C",       p->tree,  ".",    NULL};
	return phx_run_check(&(struct phx_run){.argv = argv}, NULL, err);
}

static int check_bundle(const struct push *p, const char *package, struct phx_err *err)
{
	static const char *const needed[] = {"bin/phx-agent", AGENT_UNIT};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(needed); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", p->tree, needed[i]);
		if (!path || access(path, F_OK) < 0)
			return phx_err_set(err, -EINVAL,
					   "%s: is not the agent's package (%s is missing); a "
					   "machine without an agent "
					   "needs that one first",
					   package, needed[i]);
	}
	return 0;
}

static int read_keys(struct push *p, const char *ring, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list keys = {0};
	int r = phx_ring_read(ring, &keys, err);
	if (r < 0)
		return r;
	p->package_keys = phx_ring_text(&keys);
	return p->package_keys ? 0 : -ENOMEM;
}

static int read_site(struct push *p, const char *ring, struct phx_err *err)
{
	PHX_AUTO_FREE char *ca = phx_path("%s/ca.pem", p->pki_dir);
	PHX_AUTO_FREE char *pub = phx_path("%s/site.pub", p->pki_dir);
	int r = ca && pub ? phx_file_read(ca, PEM_MAX, &p->ca, NULL, err) : -ENOMEM;
	if (r == 0)
		r = phx_file_read(pub, PEM_MAX, &p->site_pub, NULL, err);
	if (r == 0)
		r = read_keys(p, ring, err);
	if (r == 0 && !p->address[0])
		r = phx_err_set(err, -EINVAL, "the configuration has no address of this head");
	p->conf =
		phx_path("# written by phx package push\nserver = \"%s:%s\";\nhttp = \"%s:%s\";\n",
			 p->address, p->https_port, p->address, p->http_port);
	return r ? r : p->conf ? 0 : -ENOMEM;
}

static int prepare(struct push *p, const char *package, const char *ring, struct phx_err *err)
{
	struct phx_package manifest;
	p->work = strdup("/var/tmp/phx-push.XXXXXX");
	if (!p->work)
		return -ENOMEM;
	if (!mkdtemp(p->work)) {
		int r = phx_err_set(err, -errno, "%s: %s", p->work, strerror(errno));
		free(PHX_TAKE(p->work));
		return r;
	}
	int r = phx_package_unpack(package, ring, p->work, NULL, &manifest, err);
	if (r < 0)
		return r;
	p->tree = phx_path("%s/%s/%s", p->work, manifest.name, manifest.version);
	p->tar = phx_path("%s/agent.tar", p->work);
	r = p->tree && p->tar ? check_bundle(p, package, err) : -ENOMEM;
	if (r == 0)
		r = make_tar(p, err);
	return r ? r : read_site(p, ring, err);
}

/* ---- there ---- */

/* Run a fixed command line; a status other than 0 is -EIO with what it said. */
static int remote(struct phx_ssh *s, const char *command, char **ret_out, struct phx_err *err)
{
	PHX_AUTO_FREE char *out = NULL;
	int status = 0;
	int r = phx_ssh_run(s, command, &status, &out, err);
	if (r < 0)
		return r;
	if (status != 0)
		return phx_err_set(err, -EIO, "the machine answered with status %d: %.200s", status,
				   out ? out : "");
	if (ret_out)
		*ret_out = PHX_TAKE(out);
	return 0;
}

/* MACs of its real NICs and its host name: {name, macs}. New reference. */
static int ask_identity(struct phx_ssh *s, const char *host, json_t **ret, struct phx_err *err)
{
	static const char command[] = "uname -n; for n in /sys/class/net/*; do "
				      "[ ! -e $n/device ] || cat $n/address; done";
	PHX_AUTO_FREE char *out = NULL;
	int r = remote(s, command, &out, err);
	if (r < 0)
		return r;
	PHX_AUTO_JSON json_t *body = json_pack("{s:s, s:[]}", "name", host, "macs");
	char *save = NULL;
	const char *name = strtok_r(out, "\n", &save);
	for (const char *line; (line = strtok_r(NULL, "\n", &save));) {
		char mac[PHX_MAC_MAX];
		if (phx_mac_parse(line, mac) == 0)
			json_array_append_new(json_object_get(body, "macs"), json_string(mac));
	}
	/* an address is no name for a node */
	if (host[strspn(host, "0123456789.")] == '\0' && name && phx_name_valid(name))
		json_object_set_new(body, "name", json_string(name));
	*ret = json_incref(body);
	return 0;
}

static int make_token(char ret[2 * TOKEN_BYTES + 1], struct phx_err *err)
{
	unsigned char bytes[TOKEN_BYTES];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return phx_err_set(err, -EIO, "the kernel gives no random bytes");
	phx_hex(bytes, sizeof(bytes), ret);
	return 0;
}

static int copy_files(const struct push *p, struct phx_ssh *s, const char *token,
		      struct phx_err *err)
{
	PHX_AUTO_FREE char *unit = phx_path("%s/" AGENT_UNIT, p->tree);
	const struct {
		const char *text, *path;
		mode_t mode;
	} files[] = {
		{p->ca, "/etc/phoenix/ca.pem", 0644},
		{p->site_pub, "/etc/phoenix/site.pub", 0644},
		{p->package_keys, "/etc/phoenix/packages.pub", 0644},
		{p->conf, "/etc/phoenix/agent.conf", 0644},
		{token, "/etc/phoenix/token", 0600},
	};
	int r = unit ? phx_ssh_put(s, p->tar, "/opt/phoenix/agent.tar", 0600, err) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(files); i++)
		r = phx_ssh_put_data(s, files[i].text, strlen(files[i].text), files[i].path,
				     files[i].mode, err);
	return r;
}

static int install(const struct push *p, struct phx_ssh *s, const char *token, struct phx_err *err)
{
	static const char make_dirs[] =
		"umask 022 && mkdir -p /opt/phoenix/pkg /etc/phoenix /var/lib/phoenix";
	static const char unpack[] =
		"umask 022 && cd /opt/phoenix && rm -rf agent.new agent.old && mkdir agent.new && "
		"tar -xf agent.tar -C agent.new && rm -f agent.tar && "
		"{ [ ! -e agent ] || mv agent agent.old; } && mv agent.new agent && rm -rf "
		"agent.old";
	static const char start[] =
		"if [ -d /run/systemd/system ]; then "
		"cp /opt/phoenix/agent/" AGENT_UNIT " /etc/systemd/system/phx-agent.service && "
		"systemctl daemon-reload && systemctl enable --quiet phx-agent.service && "
		"systemctl restart phx-agent.service; "
		"else setsid /opt/phoenix/agent/bin/phx-agent </dev/null "
		">>/var/log/phx-agent.log 2>&1 & fi";
	int r = remote(s, make_dirs, NULL, err);
	if (r == 0)
		r = copy_files(p, s, token, err);
	if (r == 0)
		r = remote(s, unpack, NULL, err);
	return r ? r : remote(s, start, NULL, err);
}

/* ---- one host ---- */

static bool node_up(struct cli *cli, const char *name)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *path = phx_path("/v1/nodes/%s", name);
	struct phx_err err = {0};
	if (!path ||
	    cli_call_quiet(cli, "GET", path, NULL, CALL_TIMEOUT_MS, &answer, &err) != CLI_OK)
		return false;
	return phx_json_bool(answer, "up", false) && *phx_json_str(answer, "key_fp", "");
}

/* The next event of the node after *seq; with 0 seconds only how far the journal is. */
static int await_event(struct cli *cli, const char *name, int seconds, int64_t *seq)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	struct phx_err err = {0};
	int code = seconds
		? cli_events(cli, name, *seq, seconds, &answer, &err)
		: cli_call_quiet(cli, "GET", "/v1/status", NULL, CALL_TIMEOUT_MS, &answer, &err);
	*seq = phx_json_int(answer, seconds ? "last" : "seq", *seq);
	return code;
}

static int wait_enrolled(struct cli *cli, const char *name, struct phx_err *err)
{
	uint64_t seconds = ENROL_SECONDS;
	phx_duration_parse(cli_opt(cli, CLI_OPT_timeout, ""), &seconds);
	int64_t end = phx_clock_ms() + (int64_t)seconds * 1000;
	int64_t seq = 0;
	struct phx_again again = cli_away_again();
	await_event(cli, name, 0, &seq); /* from now on */
	while (!node_up(cli, name)) {
		if (phx_clock_ms() >= end)
			return phx_err_set(err, -ETIMEDOUT,
					   "the agent is installed but has not enrolled in %llu s",
					   (unsigned long long)seconds);
		int64_t asked = phx_clock_ms();
		if (await_event(cli, name, cli_hold_s(end), &seq) != CLI_OK)
			cli_pause(&again, asked, end);
	}
	return 0;
}

/* Told to phxd, quietly. */
static int post(struct cli *cli, const char *path, const json_t *body, struct phx_err *err)
{
	int code = cli_call_quiet(cli, "POST", path, body, CALL_TIMEOUT_MS, NULL, err);
	return code ? phx_err_prefix(err, -EPERM, "phxd refused the request") : 0;
}

/* Were these MACs announced under this name by a push that did not come to its end? */
static bool same_machine(const json_t *node, const json_t *body)
{
	const json_t *have = json_object_get(node, "macs"), *want = json_object_get(body, "macs");
	if (json_array_size(have) != json_array_size(want))
		return false;
	for (size_t i = 0; i < json_array_size(want); i++)
		if (!phx_str_eq(phx_json_str(json_array_get(have, i), "mac", ""),
				json_string_value(json_array_get(want, i))))
			return false;
	return true;
}

/* Announce it with the token. One that has enrolled before still has its key and needs none; one
 * that was announced and never came is announced anew. */
static int announce(struct cli *cli, json_t *body, const char *token, struct phx_err *err)
{
	const char *name = phx_json_str(body, "name", "?");
	PHX_AUTO_JSON json_t *nodes = NULL;
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	int r = 0;
	phx_nodeset_add(&names, name);
	if (cli_nodes_get(cli, names.n ? &names : NULL, NULL, &nodes) != CLI_OK)
		return phx_err_set(err, -EIO, "phxd does not say what nodes there are");
	const json_t *node = cli_node_find(nodes, name);
	if (node && *phx_json_str(node, "key_fp", ""))
		return 0;
	if (node && !same_machine(node, body))
		return phx_err_set(err, -EEXIST, "node %s is another machine", name);
	PHX_AUTO_JSON json_t *forget = json_pack("{s:s, s:b}", "nodes", name, "force", 1);
	if (node)
		r = post(cli, "/v1/actions/rm", forget, err);
	json_object_set_new(body, "token", json_string(token));
	return r ? r : post(cli, "/v1/nodes", body, err);
}

static int push_over(const struct push *p, struct phx_ssh *s, const char *host, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *body = NULL;
	char token[2 * TOKEN_BYTES + 1];
	int r = ask_identity(s, host, &body, err);
	if (r < 0)
		return r;
	const char *name = phx_json_str(body, "name", "?");
	if (node_up(p->cli, name)) {
		fprintf(stderr, "phx: %s has its agent already\n", name);
		return 0;
	}
	r = make_token(token, err);
	if (r == 0)
		r = announce(p->cli, body, token, err);
	if (r == 0)
		r = install(p, s, token, err);
	explicit_bzero(token, sizeof(token));
	if (r == 0)
		r = wait_enrolled(p->cli, name, err);
	if (r == 0)
		printf("%s\n", name);
	return r;
}

static int push_host(const struct push *p, const char *host, struct phx_err *err)
{
	const char *home = getenv("HOME");
	PHX_AUTO_FREE char *key = phx_path("%s/.ssh/id_ed25519", home ? home : "/root");
	PHX_AUTO_FREE char *known = phx_path("%s/.ssh/known_hosts", home ? home : "/root");
	uint64_t port = 22;
	phx_u64_parse(cli_opt(p->cli, CLI_OPT_port, ""), 1, 65535, &port);
	struct phx_ssh_config config = {
		.host = host,
		.port = (uint16_t)port,
		.user = cli_opt(p->cli, CLI_OPT_user, "root"),
		.key_path = cli_opt(p->cli, CLI_OPT_identity, key),
		.known_hosts_path = cli_opt(p->cli, CLI_OPT_known_hosts, known),
		.timeout_ms = SSH_TIMEOUT_MS,
	};
	struct phx_ssh *s = NULL;
	int r = phx_ssh_open(&config, &s, err);
	if (r == 0)
		r = push_over(p, s, host, err);
	phx_ssh_close(s);
	return r;
}

static int push_all(const struct push *p, const struct phx_nodeset *hosts)
{
	PHX_AUTO(cli_report_fini) struct cli_report report = {0};
	bool timed_out = false;
	for (uint32_t i = 0; i < hosts->n; i++) {
		struct phx_err err = {0};
		if (p->cli->progress)
			fprintf(stderr, "phx: %s ...\n", hosts->names[i]);
		int r = push_host(p, hosts->names[i], &err);
		if (r < 0)
			cli_report_add(&report, hosts->names[i],
				       err.text[0] ? err.text : strerror(-r));
		timed_out |= r == -ETIMEDOUT;
	}
	cli_report_print(&report);
	if (!report.n_failed)
		return CLI_OK;
	return timed_out && report.n_failed == hosts->n ? CLI_TIMEOUT : CLI_PARTIAL;
}

int cli_push(struct cli *cli, const char *hosts, const char *package, const char *ring)
{
	PHX_AUTO(push_fini)
	struct push p = {.cli = cli,
			 .pki_dir = cli_head_dir(cli, "pki_dir"),
			 .address = cli_head_value(cli, "address"),
			 .https_port = cli_head_value(cli, "https_port"),
			 .http_port = cli_head_value(cli, "http_port")};
	struct phx_nodeset names = {0};
	struct phx_err err = {0};
	if (!p.pki_dir || !p.address || !p.https_port || !p.http_port)
		return cli->head_code;
	if (phx_nodeset_parse(hosts, NULL, NULL, &names, &err) < 0)
		return cli_fail(CLI_USAGE, "%s", err.text);
	int r = prepare(&p, package, ring, &err);
	int code = r < 0
		? cli_fail(r == -EKEYREJECTED || r == -EBADMSG ? CLI_PARTIAL : cli_exit_of(r), "%s",
			   err.text[0] ? err.text : strerror(-r))
		: push_all(&p, &names);
	phx_nodeset_fini(&names);
	return code;
}
