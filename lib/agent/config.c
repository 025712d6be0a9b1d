/* Configuration of the agent: see config.h. Called once by main(). Never
 * takes a secret from an option or the kernel command line. */
#include "agent/config.h"

#include <errno.h>
#include <getopt.h>
#include <libconfig.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

static const char *const supervisor_names[] = {"auto", "own", "systemd"};
const struct phx_enum agent_supervisor_names = {"supervisor", supervisor_names, PHX_ARRAY_SIZE(supervisor_names)};

enum key_type { KEY_PATH, KEY_ADDRESS, KEY_SUPERVISOR, KEY_YES };

/* One row a key of agent.conf; `below_root` is the default below --root, NULL = none. */
static const struct key {
	const char *name;
	enum key_type type;
	size_t offset, size;
	const char *below_root;
} keys[] = {
#define KEY(name, type, fallback)                                                                                      \
	{                                                                                                              \
#name, type, offsetof(struct agent_config, name), sizeof(((struct agent_config *)0)->name), fallback   \
	}
	KEY(server, KEY_ADDRESS, NULL),
	KEY(http, KEY_ADDRESS, NULL),
	KEY(run_dir, KEY_PATH, "/run/phoenix"),
	KEY(state_dir, KEY_PATH, "/var/lib/phoenix"),
	KEY(cache_dir, KEY_PATH, "/var/cache/phoenix"),
	KEY(pkg_root, KEY_PATH, "/opt/phoenix/pkg"),
	KEY(ca, KEY_PATH, "/etc/phoenix/ca.pem"),
	KEY(site_pub, KEY_PATH, "/etc/phoenix/site.pub"),
	KEY(token_file, KEY_PATH, "/etc/phoenix/token"),
	KEY(hosts_file, KEY_PATH, "/etc/hosts"),
	KEY(supervisor, KEY_SUPERVISOR, NULL),
	KEY(job_scopes, KEY_YES, NULL),
#undef KEY
};

static char *member(struct agent_config *c, const struct key *k)
{
	return (char *)c + k->offset;
}

/* HOST:PORT of letters, digits, dots, dashes; IPv6 in brackets. */
static bool address_valid(const char *s)
{
	const char *colon = strrchr(s, ':');
	uint64_t port;
	if (!colon || colon == s || phx_u64_parse(colon + 1, 1, 65535, &port) < 0)
		return false;
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-[]:");
	return n == strlen(s);
}

static int set_key(struct agent_config *c, const struct key *k, const char *value, struct phx_err *err)
{
	switch (k->type) {
	case KEY_ADDRESS:
		if (!address_valid(value))
			return phx_err_set(err, -EINVAL, "%s = \"%s\": expected ADDRESS:PORT", k->name, value);
		break;
	case KEY_PATH:
		if (value[0] != '/')
			return phx_err_set(err, -EINVAL, "%s = \"%s\": expected an absolute path", k->name, value);
		break;
	case KEY_SUPERVISOR:
		return phx_enum_parse(&agent_supervisor_names, value, &c->supervisor, err);
	case KEY_YES:
		*(bool *)member(c, k) = phx_str_eq(value, "yes");
		return phx_str_eq(value, "yes") || phx_str_eq(value, "no")
			       ? 0
			       : phx_err_set(err, -EINVAL, "%s: must be yes or no", k->name);
	}
	if (phx_str_copy(member(c, k), k->size, value) < 0)
		return phx_err_set(err, -EINVAL, "%s: longer than %zu characters", k->name, k->size - 1);
	return 0;
}

static const struct key *find_key(const char *name)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++)
		if (phx_str_eq(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static int read_setting(struct agent_config *c, const config_setting_t *s, struct phx_err *err)
{
	const char *name = config_setting_name(s), *value = config_setting_get_string(s);
	const struct key *k = find_key(name);
	if (!k)
		return phx_err_set(err, -EINVAL, "unknown key \"%s\"", name);
	if (!value)
		return phx_err_set(err, -EINVAL, "%s: expected a string in double quotes", name);
	return set_key(c, k, value, err);
}

static int read_settings(struct agent_config *c, config_t *conf, const char *path, struct phx_err *err)
{
	config_setting_t *top = config_root_setting(conf);
	for (int i = 0; i < config_setting_length(top); i++) {
		config_setting_t *s = config_setting_get_elem(top, (unsigned)i);
		int r = read_setting(c, s, err);
		if (r < 0)
			return phx_err_prefix(err, r, "%s:%d", path, (int)config_setting_source_line(s));
	}
	return 0;
}

int agent_config_read(struct agent_config *c, const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	int r = phx_file_read(path, 65536, &text, NULL, err);
	if (r < 0)
		return r;
	config_t conf;
	config_init(&conf);
	struct agent_config copy = *c;
	if (!config_read_string(&conf, text))
		r = phx_err_set(err, -EINVAL, "%s:%d: %s", path, config_error_line(&conf), config_error_text(&conf));
	else
		r = read_settings(&copy, &conf, path, err);
	config_destroy(&conf);
	if (r == 0)
		*c = copy;
	return r;
}

/* The value of the last NAME= among the blank-separated words; malloc'd, NULL when there is none. */
static char *find_word(const char *cmdline, const char *name)
{
	size_t n = strlen(name);
	const char *found = NULL;
	for (const char *p = cmdline; *p; p += strcspn(p, " \n\t")) {
		p += strspn(p, " \n\t");
		if (strncmp(p, name, n) == 0 && p[n] == '=')
			found = p + n + 1;
	}
	return found ? strndup(found, strcspn(found, " \n\t")) : NULL;
}

int agent_config_cmdline(struct agent_config *c, const char *cmdline, struct phx_err *err)
{
	static const struct {
		const char *word, *key;
		bool needed;
	} words[] = {{"phx.server", "server", true}, {"phx.http", "http", false}};
	struct agent_config copy = *c;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		PHX_AUTO_FREE char *value = find_word(cmdline, words[i].word);
		if (!value && words[i].needed)
			return phx_err_set(err, -EINVAL, "kernel command line: %s=ADDRESS:PORT is missing",
					   words[i].word);
		int r = value ? set_key(&copy, find_key(words[i].key), value, err) : 0;
		if (r < 0)
			return phx_err_prefix(err, r, "kernel command line: %s", words[i].word);
	}
	*c = copy;
	return 0;
}

static const char usage[] = "usage: phx-agent [--config FILE] [--root DIR] [--run-dir DIR] [--fact-root DIR | --facts "
			    "FILE] [--boot-id ID]\n"
			    "       phx-agent --deploy\n"
			    "       phx-agent --help | --version\n";

enum option_id {
	OPT_DEPLOY = 1,
	OPT_CONFIG,
	OPT_ROOT,
	OPT_RUN_DIR,
	OPT_FACT_ROOT,
	OPT_FACTS,
	OPT_BOOT_ID,
	OPT_HELP,
	OPT_VERSION
};

static int set_option(struct agent_config *c, int id, const char *value, struct phx_err *err)
{
	struct {
		char *to;
		size_t size;
	} text[] = {
		[OPT_CONFIG] = {c->config, sizeof(c->config)},
		[OPT_ROOT] = {c->root, sizeof(c->root)},
		[OPT_RUN_DIR] = {c->run_dir, sizeof(c->run_dir)},
		[OPT_FACT_ROOT] = {c->fact_root, sizeof(c->fact_root)},
		[OPT_FACTS] = {c->facts_file, sizeof(c->facts_file)},
		[OPT_BOOT_ID] = {c->boot_id, sizeof(c->boot_id)},
	};
	if (id == OPT_DEPLOY)
		c->deploy = true;
	else if (phx_str_copy(text[id].to, text[id].size, value) < 0)
		return phx_err_set(err, -EINVAL, "\"%s\" is too long", value);
	return 0;
}

static int read_options(struct agent_config *c, int argc, char **argv, struct phx_err *err)
{
	static const struct option options[] = {
		{"deploy", no_argument, NULL, OPT_DEPLOY},
		{"config", required_argument, NULL, OPT_CONFIG},
		{"root", required_argument, NULL, OPT_ROOT},
		{"run-dir", required_argument, NULL, OPT_RUN_DIR},
		{"fact-root", required_argument, NULL, OPT_FACT_ROOT},
		{"facts", required_argument, NULL, OPT_FACTS},
		{"boot-id", required_argument, NULL, OPT_BOOT_ID},
		{"help", no_argument, NULL, OPT_HELP},
		{"version", no_argument, NULL, OPT_VERSION},
		{0},
	};
	optind = 0; /* start again: tests call this more than once */
	for (int id; (id = getopt_long(argc, argv, "+:", options, NULL)) != -1;) {
		if (id == '?' || id == ':')
			return phx_err_set(err, -EINVAL, "%s: %s\n%s", argv[optind - 1],
					   id == ':' ? "needs a value" : "unknown option", usage);
		if (id == OPT_HELP || id == OPT_VERSION) {
			fputs(id == OPT_HELP ? usage : "phx-agent " PHX_VERSION "\n", stdout);
			return 1;
		}
		int r = set_option(c, id, optarg, err);
		if (r < 0)
			return r;
	}
	if (optind < argc)
		return phx_err_set(err, -EINVAL, "unexpected argument \"%s\"\n%s", argv[optind], usage);
	return 0;
}

static int set_defaults(struct agent_config *c, struct phx_err *err)
{
	int n = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++) {
		const struct key *k = &keys[i];
		if (!k->below_root || *member(c, k))
			continue;
		n = snprintf(member(c, k), k->size, "%s%s", c->root, k->below_root);
		if (n < 0 || (size_t)n >= k->size)
			return phx_err_set(err, -EINVAL, "--root %s: too long", c->root);
	}
	if (!*c->config &&
	    snprintf(c->config, sizeof(c->config), "%s/etc/phoenix/agent.conf", c->root) >= (int)sizeof(c->config))
		return phx_err_set(err, -EINVAL, "--root %s: too long", c->root);
	return 0;
}

static int read_cmdline(struct agent_config *c, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/proc/cmdline", c->fact_root);
	PHX_AUTO_FREE char *text = NULL;
	if (!path)
		return -ENOMEM;
	int r = phx_file_read(path, 65536, &text, NULL, err);
	if (r < 0)
		return r;
	/* all state of the initramfs is in RAM: the disk may be about to be erased */
	PHX_STR_SET(c->state_dir, "/run/phoenix/state");
	PHX_STR_SET(c->cache_dir, "/run/phoenix/cache");
	return agent_config_cmdline(c, text, err);
}

int agent_config_init(int argc, char **argv, struct agent_config *ret, struct phx_err *err)
{
	struct agent_config c = {.job_scopes = true};
	int r = read_options(&c, argc, argv, err);
	if (r != 0)
		return r;
	c.whole_machine = !c.root[0];
	if (c.deploy && !c.whole_machine)
		return phx_err_set(err, -EINVAL, "--deploy and --root exclude each other");
	struct agent_config with_defaults = c;
	r = set_defaults(&with_defaults, err);
	if (r < 0)
		return r;
	PHX_STR_SET(c.config, with_defaults.config);
	r = c.deploy ? read_cmdline(&c, err) : agent_config_read(&c, c.config, err);
	if (r == 0)
		r = set_defaults(&c, err);
	if (r == 0 && !c.server[0])
		r = phx_err_set(err, -EINVAL, "%s: server = \"ADDRESS:PORT\"; is missing", c.config);
	if (r == 0)
		*ret = c;
	return r;
}
