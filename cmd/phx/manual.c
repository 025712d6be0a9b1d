/* The parts of the manual that come from tables. A page (*.scd) names such a part by a line
 * "@ PART"; the Makefile puts there what phx completion manual PART prints. Prints only. */
#include <string.h>

#include "agent/config.h"
#include "cli/help.h"
#include "config/agreement.h"
#include "config/image.h"
#include "config/lab.h"
#include "config/option.h"
#include "flow/trigger.h"
#include "outlet/outlet.h"
#include "metrics/metrics.h"
#include "phx/cli.h"
#include "types/rights.h"
#include "repo/repo.h"
#include "sim/scenario.h"
#include "site/site.h"
#include "trace/workflow_conf.h"
#include "types/role.h"

/* "7d", "90s": as people write it in a file. */
static void put_time(FILE *out, uint32_t seconds)
{
	static const struct {
		uint32_t seconds;
		char letter;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
	size_t i = 0;
	while (!seconds ? units[i].letter != 's' : seconds % units[i].seconds != 0)
		i++;
	fprintf(out, "%u%c", seconds / units[i].seconds, units[i].letter);
}

static void put_choices(FILE *out, const struct phx_enum *names)
{
	for (int i = 0; i < names->n_names; i++) {
		fputs(!i ? " One of " : i + 1 < names->n_names ? ", " : " and ", out);
		cli_scd(out, names->names[i]);
	}
	fputc('.', out);
}

/* What a value may be, where the form of the key alone does not say it. */
static void put_bounds(FILE *out, const struct phx_field *f)
{
	const struct phx_key *k = f->key;
	if (k->form == PHX_KEY_NUMBER && k->max != UINT32_MAX)
		fprintf(out, " A number from %u to %u%s%s.", k->min, k->max,
			*k->unit ? ", unit " : "", k->unit);
	else if (k->form == PHX_KEY_BOUND)
		fprintf(out, " A number from %u to %u, or none.", k->min, k->max);
	else if (k->form == PHX_KEY_TIME && k->max != UINT32_MAX) {
		fputs(" From ", out);
		put_time(out, k->min);
		fputs(" to ", out);
		put_time(out, k->max);
		fputc('.', out);
	} else if (k->form == PHX_KEY_CHOICE)
		put_choices(out, f->names);
}

/* Is the key a text that may be empty? */
static bool may_be_empty(const struct phx_key *k)
{
	return (k->form == PHX_KEY_TEXT && !k->min) || k->form == PHX_KEY_ADDRESS ||
		k->form == PHX_KEY_RANGE || k->form == PHX_KEY_WORDS;
}

static void put_default(FILE *out, const struct phx_key *k)
{
	if (!k->fallback) {
		fputs(" Required.", out);
	} else if (*k->fallback && k->form != PHX_KEY_GROUP) {
		fputs(" Default: ", out);
		cli_scd(out, k->fallback);
	} else if (may_be_empty(k) && !strstr(k->prose, "Default: ") &&
		   !strstr(k->prose, "Required.")) {
		fputs(" Empty by default.", out);
	}
}

static void put_key(FILE *out, const struct phx_field *f)
{
	fputc('*', out);
	cli_scd(out, f->key->name);
	fputs("*\n\t", out);
	cli_scd(out, f->key->prose);
	put_bounds(out, f);
	put_default(out, f->key);
	fputs("\n\n", out);
}

static void put_agreement(FILE *out)
{
	const struct phx_field *f;
	for (size_t i = 0; (f = phx_agreement_row(i)); i++)
		put_key(out, f);
}

static void put_keys(FILE *out, const struct phx_record *keys)
{
	for (size_t i = 0; i < keys->n_fields; i++)
		if (keys->fields[i].key)
			put_key(out, &keys->fields[i]);
}

/* The other keys of an RE of a scenario are those of its agreement. */
static void put_agreed(FILE *out)
{
	const char *name;
	for (size_t i = 0; (name = phx_sim_scenario_agreed(i)); i++) {
		fputs(!i ? "_" : phx_sim_scenario_agreed(i + 1) ? ", _" : " and _", out);
		cli_scd(out, name);
		fputc('_', out);
	}
	fputs("\n", out);
}

static void put_scope(FILE *out, enum phx_scope scope)
{
	fprintf(out, ":- %s\n", phx_enum_name(&phx_scope_names, (int)scope));
}

/* A table: a row a right, a column a role, and one for members of an RE. */
static void put_rights(FILE *out)
{
	fputs("[[ *What*\n:[ *Right*\n", out);
	for (int who = 0; who < PHX_WHO_COUNT_; who++)
		fprintf(out, "%s:- *%s*\n", who == PHX_WHO_USER ? ":- *member*\n" : "",
			phx_enum_name(&phx_who_names, who));
	for (int i = 0; i < PHX_RIGHT_COUNT_; i++) {
		fputs("|[ ", out);
		cli_scd(out, phx_right_text((enum phx_right)i));
		fputs("\n:[ ", out);
		cli_scd(out, phx_enum_name(&phx_right_names, i));
		fputc('\n', out);
		for (int who = 0; who < PHX_WHO_COUNT_; who++) {
			if (who == PHX_WHO_USER)
				put_scope(out, phx_right_member((enum phx_right)i));
			put_scope(out, phx_right_cell((enum phx_right)i, (enum phx_who)who));
		}
	}
	fputc('\n', out);
}

/* A table: a row a family of metrics. */
static void put_metrics(FILE *out)
{
	static const char *const types[] = {"gauge", "counter", "histogram"};
	fputs("[[ *Metric*\n:[ *Type*\n:[ *Labels*\n:[ *Meaning*\n", out);
	for (int i = 0; i < PHX_METRICS; i++) {
		const struct phx_metric_info *m = &phx_metric_infos[i];
		fputs("|[ _", out);
		cli_scd(out, m->name);
		fprintf(out, "_\n:[ %s\n:[ ", types[m->type]);
		cli_scd(out, m->labels);
		fputs("\n:[ ", out);
		cli_scd(out, m->help);
		fputc('\n', out);
	}
	fputc('\n', out);
}

static const struct {
	const char *name;
	void (*print)(FILE *out);
	const struct phx_record *keys;
} parts[] = {
	{"commands", cli_manual, NULL},
	{"sim", sim_manual, NULL},
	{"phoenix.conf", NULL, &phx_options_record},
	{"pool", NULL, &phx_pool_record},
	{"webhook", NULL, &phx_webhook_record},
	{"program", NULL, &phx_program_record},
	{"setup", NULL, &phx_setup_record},
	{"rights", put_rights, NULL},
	{"metrics", put_metrics, NULL},
	{"agreement", put_agreement, NULL},
	{"role", NULL, &phx_role_record},
	{"web", NULL, &phx_role_web_record},
	{"service", NULL, &phx_service_record},
	{"layout", NULL, &phx_layout_volume_record},
	{"health", NULL, &phx_health_record},
	{"rule", NULL, &phx_rule_record},
	{"image.conf", NULL, &phx_image_conf_record},
	{"manifest.conf", NULL, &phx_image_record},
	{"image-file", NULL, &phx_image_file_record},
	{"image-own", NULL, &phx_image_own_record},
	{"package.conf", NULL, &phx_package_conf_record},
	{"agent.conf", NULL, &agent_config_record},
	{"lab.conf", NULL, &lab_record},
	{"lab-machine", NULL, &lab_machine_record},
	{"lab-disk", NULL, &lab_disk_record},
	{"lab-network", NULL, &lab_network_record},
	{"lab-card", NULL, &lab_card_record},
	{"workflow-file", NULL, &phx_workflow_file_record},
	{"workflow-task", NULL, &phx_workflow_task_record},
	{"workflow-conf", NULL, &phx_workflow_record},
	{"trigger", NULL, &phx_trigger_spec_record},
	{"trigger-when", NULL, &phx_trigger_when_record},
	{"agreed", put_agreed, NULL},
	{"site.conf", NULL, &phx_site_record},
	{"site-network", NULL, &phx_site_network_record},
	{"site-group", NULL, &phx_site_group_record},
	{"site-user", NULL, &phx_site_user_record},
	{"site-file", NULL, &phx_site_file_record},
	{"site-set", NULL, &phx_site_set_record},
	{"site-nic", NULL, &phx_site_nic_record},
	{"site-mount", NULL, &phx_site_mount_record},
};

int phx_manual(const char *part)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(parts); i++) {
		if (!phx_str_eq(parts[i].name, part ? part : "commands"))
			continue;
		if (parts[i].print)
			parts[i].print(stdout);
		if (parts[i].keys)
			put_keys(stdout, parts[i].keys);
		return CLI_OK;
	}
	const struct phx_record *scenario = part ? phx_sim_scenario_table(part) : NULL;
	if (scenario) {
		put_keys(stdout, scenario);
		return CLI_OK;
	}
	return cli_fail(CLI_USAGE, "\"%s\" is no part of the manual that comes from a table", part);
}
