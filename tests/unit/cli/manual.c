/* The manual pages: every key of every file is explained, no page names a key that there is not,
 * scdoc takes every page, and no page lacks its final newline (then tables would vanish). */
#include "fake/phxd.h"

#include "agent/config.h"
#include "config/agreement.h"
#include "config/image.h"
#include "config/lab.h"
#include "config/option.h"
#include "repo/repo.h"
#include "sim/scenario.h"
#include "site/site.h"
#include "flow/trigger.h"
#include "trace/workflow_conf.h"
#include "types/role.h"

static const char *const pages[] = {"cmd/phx/phx.1.scd",           "cmd/phx-sim/phx-sim.1.scd",
				    "cmd/phxd/phxd.8.scd",         "cmd/phx-agent/phx-agent.8.scd",
				    "etc/phoenix.conf.5.scd",      "etc/phoenix-agreement.5.scd",
				    "etc/phoenix-role.5.scd",      "etc/phoenix-image.5.scd",
				    "etc/phoenix-package.5.scd",   "etc/phoenix-lab.5.scd",
				    "etc/phoenix-workflow.5.scd",  "etc/phoenix-site.5.scd",
				    "cmd/phx/phoenix-intro.7.scd", "cmd/phx/phoenix-peers.7.scd"};

static char *read_page(const char *name)
{
	char path[512];
	char *text = NULL;
	struct phx_err err = {0};
	snprintf(path, sizeof(path), "%s/../%s", TEST_DIR, name);
	if (phx_file_read(path, 1 << 20, &text, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

/* The page as it is built, its parts from tables in place. */
static char *read_built(const char *name)
{
	char path[PATH_MAX + 64];
	char *text = NULL;
	struct phx_err err = {0};
	const char *phx = phx_program();
	snprintf(path, sizeof(path), "%.*s/man/%s", (int)(strlen(phx) - strlen("/bin/phx")), phx,
		 name);
	if (phx_file_read(path, 1 << 20, &text, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

/* "*KEY*" in scdoc. */
static const char *marked(const char *key, char buf[128])
{
	char *to = buf;
	*to++ = '*';
	for (; *key; key++) {
		if (*key == '_')
			*to++ = '\\';
		*to++ = *key;
	}
	strcpy(to, "*");
	return buf;
}

/* ---- every key of every file is in its page ---- */

static const struct {
	const char *page;
	const struct phx_record *keys;
} files[] = {
	{"phoenix.conf.5.scd", &phx_options_record},
	{"phoenix.conf.5.scd", &phx_pool_record},
	{"phoenix.conf.5.scd", &phx_setup_record},
	{"phoenix-agreement.5.scd", &phx_agreement_record},
	{"phoenix-role.5.scd", &phx_role_record},
	{"phoenix-role.5.scd", &phx_role_web_record},
	{"phoenix-role.5.scd", &phx_service_record},
	{"phoenix-role.5.scd", &phx_layout_volume_record},
	{"phoenix-role.5.scd", &phx_health_record},
	{"phoenix-role.5.scd", &phx_rule_record},
	{"phoenix-image.5.scd", &phx_image_conf_record},
	{"phoenix-image.5.scd", &phx_image_record},
	{"phoenix-image.5.scd", &phx_image_file_record},
	{"phoenix-package.5.scd", &phx_package_conf_record},
	{"phx-agent.8.scd", &agent_config_record},
	{"phoenix-workflow.5.scd", &phx_workflow_record},
	{"phoenix-workflow.5.scd", &phx_workflow_task_record},
	{"phoenix-workflow.5.scd", &phx_workflow_file_record},
	{"phoenix-workflow.5.scd", &phx_trigger_spec_record},
	{"phoenix-workflow.5.scd", &phx_trigger_when_record},
	{"phoenix-site.5.scd", &phx_site_record},
	{"phoenix-site.5.scd", &phx_site_group_record},
	{"phoenix-site.5.scd", &phx_site_user_record},
	{"phoenix-site.5.scd", &phx_site_network_record},
	{"phoenix-site.5.scd", &phx_site_set_record},
	{"phoenix-site.5.scd", &phx_site_mount_record},
	{"phoenix-site.5.scd", &phx_site_nic_record},
	{"phoenix-site.5.scd", &phx_site_file_record},
	{"phoenix-lab.5.scd", &lab_record},
	{"phoenix-lab.5.scd", &lab_machine_record},
	{"phoenix-lab.5.scd", &lab_disk_record},
};
/* of phx-sim(1) */
static const char *const scenario_parts[] = {"scenario", "delays",    "cluster",      "scenario-re",
					     "swf",      "requests",  "demand",       "workflow",
					     "dax",      "draw_jobs", "draw_requests"};

static const struct phx_record *scenario_keys(size_t i)
{
	const struct phx_record *keys = phx_sim_scenario_table(scenario_parts[i]);
	assert_non_null(keys);
	return keys;
}

static void check_prose(const char *page, const struct phx_field *f)
{
	char name[128], entry[140];
	PHX_AUTO_FREE char *text = read_built(page);
	snprintf(entry, sizeof(entry), "\n%s\n\t", marked(f->key->name, name));
	const char *at = strstr(text, entry);
	if (!at)
		fail_msg("%s does not explain %s", page, name);
	size_t n = strlen(f->key->prose);
	if (n < 6 || f->key->prose[n - 1] != '.')
		fail_msg("%s: %s is explained by no sentence: %s", page, name, f->key->prose);
	for (int i = 0; f->key->form == PHX_KEY_CHOICE && i < f->names->n_names; i++) {
		char value[128];
		marked(f->names->names[i], value);
		value[strlen(value) - 1] = '\0';
		if (!strstr(at, value + 1))
			fail_msg("%s: %s does not name its value %s", page, name, value + 1);
	}
}

static void check_keys(const char *page, const struct phx_record *keys)
{
	for (size_t k = 0; k < keys->n_fields; k++)
		if (keys->fields[k].key)
			check_prose(page, &keys->fields[k]);
}

static void every_key_is_in_its_page(void **state)
{
	(void)state;
	const struct phx_field *f;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++)
		check_keys(files[i].page, files[i].keys);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(scenario_parts); i++)
		check_keys("phx-sim.1.scd", scenario_keys(i));
	for (size_t i = 0; (f = phx_agreement_row(i)); i++)
		check_prose("phoenix-agreement.5.scd", f);
}

/* ---- no page names a key that there is not ---- */

static bool has_key(const char *key)
{
	static const char *const others[] = {
		"extensions",                         /* of an agreement: a list of one's own */
		"config_overrides",                   /* Slurm's */
		"root_keys",                          /* a file of the settings of the site */
		"prefetch_wanted",  "prefetch_there", /* of GET /v1/nodes */
	};
	const struct phx_field *f;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(others); i++)
		if (phx_str_eq(others[i], key))
			return true;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++)
		if (phx_key_find(files[i].keys, key))
			return true;
	for (size_t i = 0; (f = phx_agreement_row(i)); i++)
		if (phx_str_eq(f->key->name, key))
			return true;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(scenario_parts); i++)
		if (phx_key_find(scenario_keys(i), key))
			return true;
	return false;
}

/* Does a recipe of an image read the key? */
static bool recipe_has(const char *key)
{
	static const char *const recipes[] = {"images/lib.sh", "images/rootfs.sh",
					      "images/initramfs.sh"};
	static const char *const readers[] = {"conf", "conf_list", "conf_required"};
	bool has = false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(recipes); i++) {
		PHX_AUTO_FREE char *text = read_page(recipes[i]);
		for (size_t k = 0; k < PHX_ARRAY_SIZE(readers); k++) {
			char wanted[128];
			snprintf(wanted, sizeof(wanted), "%s %s", readers[k], key);
			has |= strstr(text, wanted) != NULL;
		}
	}
	return has;
}

/* The word between two marks of one kind from `at` on, without escapes; "" when there is none that
 * could be a key: letters in lower case, and '_' unless it is explained there. */
static void key_at(const char *at, bool entry, char ret[64])
{
	size_t n = 0;
	bool joined = entry;
	const char *p = at + 1;
	for (; n < 63 && ((*p >= 'a' && *p <= 'z') || (*p == '\\' && p[1] == '_')); p++) {
		joined |= *p == '\\';
		p += *p == '\\';
		ret[n++] = *p;
	}
	ret[*p == *at && joined && *ret != '_' ? n : 0] = '\0';
}

static void every_key_that_a_page_names_is_there(void **state)
{
	(void)state;
	unsigned n = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(pages); i++) {
		PHX_AUTO_FREE char *text = read_page(pages[i]);
		bool of_files = phx_str_starts(pages[i], "etc/");
		for (const char *p = text; *p; p++) {
			char key[64];
			if (p == text || (*p != '*' && *p != '_') || p[-1] == '\\')
				continue;
			const char *next = strchr(p, '\n');
			key_at(p, of_files && p[-1] == '\n' && *p == '*' && next && next[1] == '\t',
			       key);
			if (*key && !has_key(key) && !recipe_has(key))
				fail_msg("%s names the key '%s', which there is not", pages[i],
					 key);
			n += *key != '\0';
		}
	}
	assert_in_range(n, 20, UINT32_MAX);
}

/* ---- no page names a command that there is not ---- */

/* Is one of them the beginning of the other, by whole words? */
static bool same_words(const char *path, const char *text)
{
	size_t n = strlen(path), m = strlen(text);
	return !strncmp(path, text, n < m ? n : m) &&
		(n == m || strchr(" [.:,;)", n < m ? text[n] : path[m]) != NULL);
}

static bool is_command(const char *text)
{
#define COMMAND(id, path, ...) path,
	static const char *const all[] = {
#include "cli/commands.def"
	};
#undef COMMAND
	for (size_t i = 0; i < PHX_ARRAY_SIZE(all); i++)
		if (same_words(all[i], text))
			return true;
	return phx_str_starts(text, "help") || text[0] == '-';
}

static void every_command_that_a_page_names_is_there(void **state)
{
	(void)state;
	unsigned n = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(pages); i++) {
		PHX_AUTO_FREE char *text = read_page(pages[i]);
		for (const char *p = text; (p = strstr(p, "*phx ")); n++) {
			char words[80], *to = words;
			/* its line may break, and some letters are escaped */
			for (p += 5; *p && *p != '*' && to < words + sizeof(words) - 1; p++)
				if (*p != '\\' && *p != '\t')
					*to++ = *p == '\n' ? ' ' : *p;
			*to = '\0';
			if (!is_command(words))
				fail_msg("%s names 'phx %s', which there is not", pages[i], words);
		}
	}
	assert_in_range(n, 100, UINT32_MAX);
}

/* phx node why proposes none either. */
static void every_command_that_is_proposed_is_there(void **state)
{
	(void)state;
	static const char *const acts[] = {
#define WHY(name, phase, wrong, proven, text, act) act,
#include "why/why.def"
#undef WHY
	};
	unsigned n = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(acts); i++)
		for (const char *p = acts[i]; (p = strstr(p, "phx ")); n++)
			if (!is_command(p += 4))
				fail_msg("why.def proposes 'phx %s', which there is not", p);
	assert_in_range(n, 20, UINT32_MAX);
}

/* Each row of the comparison has the command that shows it. */
static void every_row_of_the_comparison_has_a_command(void **state)
{
	(void)state;
	PHX_AUTO_FREE char *text = read_page("cmd/phx/phoenix-peers.7.scd");
	unsigned rows = 0;
	for (const char *p = text; (p = strstr(p, "\n|")); rows++) {
		const char *own = strchr(p + 1, '\n') + 1, *cell = own;
		size_t n = strcspn(own, "\n");
		const char *shows = memmem(own, n, "*phx ", 5);
		if (!shows && !phx_str_starts(own, ":  no\n"))
			fail_msg("no command shows row %u of the comparison: %.40s", rows + 1,
				 p + 1);
		for (unsigned i = 0; i < 4; i++, cell = strchr(cell, '\n') + 1)
			assert_memory_equal(cell, ":  ", 3);
		assert_true(*cell == '|' || *cell == '\n');
		p++;
	}
	assert_in_range(rows, 20, 100);
}

/* ---- pages ---- */

static void every_page_becomes_roff(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(pages); i++) {
		PHX_AUTO_FREE char *text = read_page(pages[i]);
		char name[64];
		assert_int_equal(text[strlen(text) - 1], '\n');
		snprintf(name, sizeof(name), "%s", strrchr(pages[i], '/') + 1);
		name[strlen(name) - strlen(".scd")] = '\0';
		PHX_AUTO_FREE char *roff = read_built(name);
		assert_has(roff, ".SH NAME");
		assert_lacks(roff, "\n@ ");
	}
}

/* What phx prints for a part is in the page, whole. */
static void pages_have_the_parts_that_phx_prints(void **state)
{
	(void)state;
	static const struct {
		const char *page, *words;
	} rows[] = {{"phx.1.scd", "completion manual"},
		    {"phx-sim.1.scd", "completion manual sim"},
		    {"phx-agent.8.scd", "completion manual agent.conf"}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_FREE char *text = read_built(rows[i].page);
		PHX_SAID made = phx_at("/nonexistent", rows[i].words);
		assert_int_equal(made.status, 0);
		assert_has(text, made.out);
	}
	PHX_SAID none = phx_at("/nonexistent", "completion manual nosuch");
	assert_int_equal(none.status, 64);
}

static void options_of_the_daemons_are_in_their_pages(void **state)
{
	(void)state;
	static const struct {
		const char *page, *part;
	} rows[] = {
		{"cmd/phxd/phxd.8.scd", "--config"},
		{"cmd/phxd/phxd.8.scd", "--check"},
		{"cmd/phx-agent/phx-agent.8.scd", "--deploy"},
		{"cmd/phx-agent/phx-agent.8.scd", "--root"},
		{"cmd/phx-agent/phx-agent.8.scd", "--facts"},
		{"cmd/phx-agent/phx-agent.8.scd", "--boot-id"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_FREE char *text = read_page(rows[i].page);
		assert_has(text, rows[i].part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_in_its_page),
		cmocka_unit_test(every_key_that_a_page_names_is_there),
		cmocka_unit_test(every_command_that_a_page_names_is_there),
		cmocka_unit_test(every_command_that_is_proposed_is_there),
		cmocka_unit_test(every_row_of_the_comparison_has_a_command),
		cmocka_unit_test(every_page_becomes_roff),
		cmocka_unit_test(pages_have_the_parts_that_phx_prints),
		cmocka_unit_test(options_of_the_daemons_are_in_their_pages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
