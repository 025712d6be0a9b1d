/* Configuration of the agent: see config.h. Called once by main(). Never
 * takes a secret from an option or the kernel command line. */
#include "agent/config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "config/conf.h"

static const char *const supervisor_names[] = {"auto", "own", "systemd"};
const struct phx_enum agent_supervisor_names = {"supervisor", supervisor_names,
						PHX_ARRAY_SIZE(supervisor_names)};

static const char *const yes_names[] = {"no", "yes"};
const struct phx_enum agent_yes_names = {"answer", yes_names, PHX_ARRAY_SIZE(yes_names)};

static const char *const private_names[] = {"auto", "no", "yes"};
const struct phx_enum agent_private_names = {"answer", private_names,
					     PHX_ARRAY_SIZE(private_names)};

PHX_RECORD_TABLE(agent_config, AGENT_CONFIG_FIELDS);

static int read_settings(struct agent_config *c, const struct phx_conf *conf, struct phx_err *err)
{
	const config_setting_t *top = config_root_setting(&conf->cfg);
	int r = 0;
	for (int i = 0; r == 0 && i < config_setting_length(top); i++) {
		const config_setting_t *s = config_setting_get_elem(top, (unsigned)i);
		const struct phx_field *f =
			phx_key_find(&agent_config_record, config_setting_name(s));
		r = f ? phx_conf_value(conf, s, f, (char *)c + f->offset, err)
		      : phx_conf_fail(conf, s, -EINVAL, err, "unknown key \"%s\"",
				      config_setting_name(s));
	}
	return r;
}

int agent_config_read(struct agent_config *c, const char *path, struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf conf = {0};
	struct agent_config copy = *c;
	int r = phx_conf_read(path, &conf, err);
	if (r == 0)
		r = read_settings(&copy, &conf, err);
	if (r == 0)
		*c = copy;
	return r;
}

const char *agent_config_ring(const struct agent_config *c)
{
	return access(c->package_keys, F_OK) == 0 || errno != ENOENT ? c->package_keys
								     : c->site_pub;
}

bool agent_config_private(const struct agent_config *c)
{
	return c->job_private == AGENT_PRIVATE_AUTO ? c->whole_machine && geteuid() == 0
						    : c->job_private == AGENT_PRIVATE_YES;
}

/* The value of the last NAME= among the blank-separated words; malloc'd, NULL when there is
 * none. */
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
	} words[] = {{"phx.server", "server", true},
		     {"phx.http", "http", false},
		     {"phx.beacon", "beacon", false}};
	struct agent_config copy = *c;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		PHX_AUTO_FREE char *value = find_word(cmdline, words[i].word);
		if (!value && words[i].needed)
			return phx_err_set(err, -EINVAL,
					   "kernel command line: %s=ADDRESS:PORT is missing",
					   words[i].word);
		const struct phx_field *f = phx_key_find(&agent_config_record, words[i].key);
		int r = value ? phx_key_parse(f, value, (char *)&copy + f->offset, err) : 0;
		if (r < 0)
			return phx_err_prefix(err, r, "kernel command line: %s", words[i].word);
	}
	agent_config_start(&copy, cmdline);
	PHX_AUTO_FREE char *image = find_word(cmdline, "phx.image");
	PHX_AUTO_FREE char *kernel = find_word(cmdline, "phx.kernel");
	PHX_STR_SET(copy.image_sha256, image ? image : "");
	PHX_STR_SET(copy.kernel_word, kernel ? kernel : "");
	*c = copy;
	return 0;
}

bool agent_config_start(struct agent_config *c, const char *words)
{
	PHX_AUTO_FREE char *token = find_word(words, "phx.start");
	return token && token[0] && strcmp(token, c->start) != 0 &&
		PHX_STR_SET(c->start, token) == 0;
}

static const char usage[] =
	"usage: phx-agent [--config FILE] [--root DIR] [--run-dir DIR] [--fact-root DIR | --facts "
	"FILE] [--boot-id ID]\n"
	"       phx-agent --deploy\n"
	"       phx-agent [--config FILE] [--root DIR] --anchors\n"
	"       phx-agent --help | --version\n";

enum option_id {
	OPT_DEPLOY = 1,
	OPT_CONFIG,
	OPT_ROOT,
	OPT_RUN_DIR,
	OPT_FACT_ROOT,
	OPT_FACTS,
	OPT_BOOT_ID,
	OPT_ANCHORS,
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
	else if (id == OPT_ANCHORS)
		c->anchors = true;
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
		{"anchors", no_argument, NULL, OPT_ANCHORS},
		{"help", no_argument, NULL, OPT_HELP},
		{"version", no_argument, NULL, OPT_VERSION},
		{0},
	};
	optind = 0; /* reset: tests call this function more than once */
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
		return phx_err_set(err, -EINVAL, "unexpected argument \"%s\"\n%s", argv[optind],
				   usage);
	return 0;
}

/* Of all that is no path; those follow from --root. */
static int set_values(struct agent_config *c, struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; i < agent_config_record.n_fields; i++) {
		const struct phx_field *f = &agent_config_record.fields[i];
		if (f->key && f->key->form != PHX_KEY_PATH)
			r = r ? r : phx_key_default(f, (char *)c + f->offset, err);
	}
	return r;
}

static int set_defaults(struct agent_config *c, struct phx_err *err)
{
	for (size_t i = 0; i < agent_config_record.n_fields; i++) {
		const struct phx_field *f = &agent_config_record.fields[i];
		char *member = (char *)c + f->offset;
		if (!f->key || f->key->form != PHX_KEY_PATH || *member)
			continue;
		int n = snprintf(member, f->size, "%s%s", c->root, f->key->fallback);
		if (n < 0 || (size_t)n >= f->size)
			return phx_err_set(err, -EINVAL, "--root %s: too long", c->root);
	}
	if (!*c->config &&
	    snprintf(c->config, sizeof(c->config), "%s/etc/phoenix/agent.conf", c->root) >=
		    (int)sizeof(c->config))
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
	/* the deploy environment keeps all state in RAM: the disk may be about to be erased */
	PHX_STR_SET(c->state_dir, "/run/phoenix/state");
	PHX_STR_SET(c->cache_dir, "/run/phoenix/cache");
	return agent_config_cmdline(c, text, err);
}

int agent_config_init(int argc, char **argv, struct agent_config *ret, struct phx_err *err)
{
	struct agent_config c = {0};
	int r = set_values(&c, err);
	if (r == 0)
		r = read_options(&c, argc, argv, err);
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
		r = phx_err_set(err, -EINVAL, "%s: server = \"ADDRESS:PORT\"; is missing",
				c.config);
	if (r == 0)
		*ret = c;
	return r;
}
