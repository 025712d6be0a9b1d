/* Types of arguments: one row says what a value must look like and how a shell completes it.
 * Checks the form only; whether a node or role exists is asked of phxd by the command. Called by
 * args.c and by the completion. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/identity.h"
#include "cli/cli.h"
#include "flow/graph.h"
#include "trace/workflow.h"
#include "iaas/iaas.h"
#include "types/setup.h"
#include "sim/run.h"

/* Groups are resolved later, against phxd. */
static int any_group(void *arg, const char *group, struct phx_nodeset *ret)
{
	(void)arg;
	(void)ret;
	return *group ? 0 : -ENOENT;
}

static int check_nodes(const char *text, struct phx_err *err)
{
	struct phx_nodeset s = {0};
	int r = phx_nodeset_parse(text, any_group, NULL, &s, err);
	phx_nodeset_fini(&s);
	return r;
}

static int check_name(const char *text, struct phx_err *err)
{
	if (phx_name_valid(text))
		return 0;
	return phx_err_set(err, -EINVAL,
			   "\"%s\" is not a name: letters, digits, '-', '_' and '.', at most %d, a "
			   "letter or digit first",
			   text, PHX_NAME_MAX - 1);
}

static int check_format(const char *text, struct phx_err *err)
{
	int value;
	return phx_enum_parse(&cli_format_names, text, &value, err);
}

static int check_picture(const char *text, struct phx_err *err)
{
	int value;
	return phx_enum_parse(&phx_flow_graph_names, text, &value, err);
}

static int check_form(const char *text, struct phx_err *err)
{
	int value;
	return phx_enum_parse(&phx_workflow_form_names, text, &value, err);
}

static int check_method(const char *text, struct phx_err *err)
{
	int value;
	return phx_enum_parse(&phx_wipe_method_names, text, &value, err);
}

/* Nodes and servers get theirs from phxd. */
static int check_kind(const char *text, struct phx_err *err)
{
	static const char *const kinds[] = {"provider", "service-provider", "user"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++)
		if (phx_str_eq(text, kinds[i]))
			return 0;
	return phx_err_set(err, -EINVAL, "\"%s\" is none of provider, service-provider, user",
			   text);
}

static int check_setup(const char *text, struct phx_err *err)
{
	if (phx_str_starts(text, "wipe:"))
		return check_method(text + strlen("wipe:"), err);
	int value;
	return phx_enum_parse(&phx_setup_mode_names, text, &value, err);
}

static int check_count(const char *text, struct phx_err *err)
{
	uint64_t value;
	if (phx_u64_parse(text, 0, 1000000000, &value) == 0)
		return 0;
	return phx_err_set(err, -EINVAL, "\"%s\" is not a number", text);
}

static int check_step(const char *text, struct phx_err *err)
{
	uint64_t value;
	if (phx_u64_parse(text, 1, INT64_MAX, &value) == 0)
		return 0;
	return phx_err_set(err, -EINVAL, "\"%s\" is no step: 1 is the first of the plan", text);
}

static int check_time(const char *text, struct phx_err *err)
{
	uint64_t seconds;
	if (phx_duration_parse(text, &seconds) == 0)
		return 0;
	return phx_err_set(err, -EINVAL, "\"%s\" is not a time; 90, 90s, 15m, 2h, 1d are", text);
}

static int check_size(const char *text, struct phx_err *err)
{
	uint64_t bytes;
	if (phx_size_parse(text, &bytes) == 0)
		return 0;
	return phx_err_set(err, -EINVAL, "\"%s\" is not a size; \"5 GiB\" or 512M are", text);
}

static int check_mac(const char *text, struct phx_err *err)
{
	char mac[PHX_MAC_MAX];
	if (phx_mac_parse(text, mac) == 0)
		return 0;
	return phx_err_set(err, -EINVAL, "\"%s\" is not a MAC address; 52:54:00:12:34:56 is", text);
}

static int check_machine(const char *text, struct phx_err *err)
{
	return strchr(text, ':') ? check_mac(text, err) : check_name(text, err);
}

static int check_assignment(const char *text, struct phx_err *err)
{
	const char *eq = strchr(text, '=');
	if (eq && eq != text)
		return 0;
	return phx_err_set(err, -EINVAL, "\"%s\": expected KEY=VALUE", text);
}

static int check_jobs(const char *text, struct phx_err *err)
{
	if (cli_job_rows(text, NULL) == 0)
		return 0;
	return phx_err_set(err, -EINVAL, "\"%s\" is not a number, nor several (10-20,25)", text);
}

static int check_env(const char *text, struct phx_err *err)
{
	if (*text && *text != '=')
		return 0;
	return phx_err_set(err, -EINVAL, "\"%s\": expected NAME=VALUE or NAME", text);
}

static int check_identity(const char *text, struct phx_err *err)
{
	struct phx_identity is;
	int r = phx_identity_parse(text, &is, err);
	return r ? phx_err_prefix(err, r, "\"%.80s\"", text) : 0;
}

/* "KEY=VALUE", or "KEY-" to take it off; both are names. */
static int check_label(const char *text, struct phx_err *err)
{
	size_t n = strlen(text), n_key = strcspn(text, "=");
	char key[PHX_NAME_MAX];
	bool off = !text[n_key] && n > 1 && text[n - 1] == '-';
	snprintf(key, sizeof(key), "%.*s", (int)(off ? n - 1 : n_key), text);
	if (phx_name_valid(key) && (off || (text[n_key] && phx_name_valid(text + n_key + 1))))
		return 0;
	return phx_err_set(err, -EINVAL,
			   "\"%s\": expected KEY=VALUE or KEY-, of letters, digits, '-', '_' and "
			   "'.', a letter or digit first",
			   text);
}

/* "KEY=VALUE" of nodes that are looked for, as phxd takes it for a group. */
static bool is_wanted_label(char *term)
{
	char *value = strchr(term, '=');
	if (!value)
		return false;
	*value++ = '\0';
	return phx_name_valid(term) && phx_nodeset_value_valid(value);
}

/* "KEY=VALUE" and "KEY!=VALUE", with commas between. */
static int check_labels(const char *text, struct phx_err *err)
{
	for (const char *p = text;; p++) {
		char term[2 * PHX_NAME_MAX];
		size_t n = strcspn(p, ","), n_key = strcspn(p, "!=,");
		bool not = p[n_key] == '!';
		snprintf(term, sizeof(term), "%.*s%.*s", (int)n_key, p, (int)(n - n_key - not ),
			 p + n_key + not );
		if (!is_wanted_label(term))
			return phx_err_set(err, -EINVAL,
					   "\"%s\": expected labels, such as rack=3,zone!=a", text);
		p += n;
		if (!*p)
			return 0;
	}
}

/* The calls that ClusterShell makes of a source of groups. */
static int check_upcall(const char *text, struct phx_err *err)
{
	static const char *const calls[] = {"map", "all", "list", "reverse"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(calls); i++)
		if (phx_str_eq(text, calls[i]))
			return 0;
	return phx_err_set(err, -EINVAL, "\"%s\" is none of map, all, list, reverse", text);
}

static int check_url(const char *text, struct phx_err *err)
{
	if (phx_str_starts(text, "https://") && text[strlen("https://")])
		return 0;
	return phx_err_set(err, -EINVAL, "\"%s\": expected https://HEAD:PORT", text);
}

static int check_scheduler(const char *text, struct phx_err *err)
{
	int value;
	return phx_enum_parse(&phx_scheduler_names, text, &value, err);
}

static int check_policy(const char *text, struct phx_err *err)
{
	int value;
	return phx_enum_parse(&phx_policy_names, text, &value, err);
}

static int check_estimates(const char *text, struct phx_err *err)
{
	int value;
	return phx_enum_parse(&phx_sim_estimates_names, text, &value, err);
}

static int check_provisioning(const char *text, struct phx_err *err)
{
	int value;
	return phx_enum_parse(&phx_provisioning_names, text, &value, err);
}

static int check_allocation(const char *text, struct phx_err *err)
{
	int value;
	return phx_enum_parse(&phx_allocation_names, text, &value, err);
}

static int check_signal(const char *text, struct phx_err *err)
{
	return cli_signal(text)
		? 0
		: phx_err_set(err, -EINVAL, "\"%s\": expected a signal, such as USR1 or 10", text);
}

int cli_signal(const char *text)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"HUP", SIGHUP},
		       {"INT", SIGINT},
		       {"USR1", SIGUSR1},
		       {"USR2", SIGUSR2},
		       {"TERM", SIGTERM}};
	uint64_t n;
	if (phx_str_starts(text, "SIG"))
		text += 3;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(signals); i++)
		if (phx_str_eq(text, signals[i].name))
			return signals[i].number;
	return phx_u64_parse(text, 1, 64, &n) == 0 ? (int)n : 0;
}

/* words of a completion, from the table that has them */
#define PROVISIONING(id, name, ...) name " "
#define ALLOCATION(id, name, ...) name " "
#define WORKLOAD(id, name, ...) name " "
static const struct cli_type types[] = {
	{"NODES", "a node list", "nodes", check_nodes},
	{"HOSTS", "a list of hosts", "nodes", check_nodes},
	{"NODE", "a node name", "nodes", check_name},
	{"MACHINE", "a node name, or the MAC address of a machine", "nodes", check_machine},
	{"SERVICE", "a service name", "", check_name},
	{"ROLE", "a role name", "roles", check_name},
	{"POOL", "a pool name", "", check_name},
	{"NAME", "a name", "", check_name},
	{"IMAGE", "an image name", "images", check_name},
	{"IMAGE:VERSION", "an image, maybe with its version", "images", NULL},
	{"PACKAGE", "a package", "packages", check_name},
	{"VERSION", "a version", "", check_name},
	{"RE", "an RE name", "res", check_name},
	{"AGREEMENT", "an agreement", "files", NULL},
	{"JOB", "a job number", "jobs", check_count},
	{"ERASURE", "a number of phx erasure list, or a node", "nodes", check_name},
	{"SCRIPT", "a script, or behind -- a command", "files", NULL},
	{"ENV", "NAME or NAME=VALUE", "", check_env},
	{"RUN", "the number of a run", "", check_count},
	{"TRIGGER", "the name of a trigger", "triggers", check_name},
	{"TASK", "the id of a task, or its number", "", NULL},
	{"WORKFLOW", "a file, or the number of a run", "files", NULL},
	{"JOBS", "numbers of jobs", "jobs", check_jobs},
	{"ARRAY", "indices (1,5,9, FROM-TO[:STEP]), maybe with %COUNT", "", NULL},
	{"COUNT", "a number", "", check_count},
	{"STEP", "a step's place in the plan, or its id", "", check_step},
	{"TIME", "a time", "", check_time},
	{"SIGNAL", "a signal", "(HUP INT USR1 USR2 TERM)", check_signal},
	{"SIZE", "a size", "", check_size},
	{"FORMAT", "a format", "(table wide json yaml name tsv csv markdown)", check_format},
	{"SETUP", "a setup policy",
	 "("
#define K(id, name, does, text) name " "
	 PHX_SETUP_MODES(K)
#undef K
		 "wipe:auto wipe:crypto wipe:discard wipe:overwrite wipe:secure-erase)",
	 check_setup},
	{"KIND", "a kind", "(provider service-provider user)", check_kind},
	{"SCHEDULER", "a scheduler", "(first-fit fcfs easy sjf)", check_scheduler},
	{"POLICY", "a policy", "(fb coop2008)", check_policy},
	{"ESTIMATES", "an origin of estimates", "(log exact strict)", check_estimates},
	{"PROVISIONING", "a provisioning policy",
	 "("
#include "policy/provisioning.def"
	 ")",
	 check_provisioning},
	{"ALLOCATION", "an allocation policy",
	 "("
#include "iaas/allocation.def"
	 ")",
	 check_allocation},
	{"WORKLOAD", "a workload",
	 "("
#include "iaas/workload.def"
	 ")",
	 NULL},
	{"METHOD", "a method", "(auto crypto discard overwrite secure-erase)", check_method},
	{"MAC", "a MAC address", "", check_mac},
	{"KEY=VALUE", "a setting", "", check_assignment},
	{"LABEL", "a label", "labels", check_label},
	{"IDENTITY", "a user or a certificate", "", check_identity},
	{"RIGHT", "a role, or login:USER", "(admin operator auditor provider login:)", NULL},
	{"MEMBER", "a member", "", NULL},
	{"LABELS", "labels", "labels", check_labels},
	{"UPCALL", "an upcall", "(map all list reverse)", check_upcall},
	{"URL", "a URL", "", check_url},
	{"FORM", "a form of workflows", "(wfformat dax conf)", check_form},
	{"PICTURE", "a kind of picture", "(dot svg ascii)", check_picture},
	{"FILE", "a file", "files", NULL},
	{"SOURCE", "a file or a container", "files", NULL},
	{"DIR", "a directory", "dirs", NULL},
	{"ADDRESS", "an address", "", NULL},
	{"TEXT", "a text", "", NULL},
	{"CMD", "a command", "", NULL},
	{"PART", "a part of the manual", "", NULL},
	{"WORD", "a word", "", NULL},
};
#undef PROVISIONING
#undef ALLOCATION
#undef WORKLOAD

const struct cli_type *cli_type_find(const char *name)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(types); i++)
		if (phx_str_eq(types[i].name, name))
			return &types[i];
	return NULL;
}
