/* phx import: what another tool knows of machines, as our settings of the site, a list of machines
 * to announce, files with passwords of BMCs, and a list of what could not be carried over:
 *
 *	file ──reader──▶ struct import ──▶ DIR.XXXXXX, checked as phx site check does ──▶ DIR
 *
 * DIR is there when it is whole, or not at all. Asks no head and changes none. */
#include "phx/import.h"

#include <errno.h>
#include <libconfig.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"
#include "base/utf8.h"
#include "config/site.h"
#include "phx/node_add.h"

enum { FILE_BYTES_MAX = 32 << 20 };
#define BMC_DIR "/etc/phoenix/bmc" /* of the head, where the files of DIR/bmc are to lie */

/* ---- settings ---- */

static void put_value(config_setting_t *to, const char *key, const json_t *value)
{
	const char *name;
	size_t i;
	json_t *item;
	bool groups = json_is_object(json_array_get(value, 0));
	int type = json_is_object(value) ? CONFIG_TYPE_GROUP
		: json_is_array(value)   ? groups ? CONFIG_TYPE_LIST : CONFIG_TYPE_ARRAY
		: json_is_integer(value) ? CONFIG_TYPE_INT
		: json_is_boolean(value) ? CONFIG_TYPE_BOOL
					 : CONFIG_TYPE_STRING;
	config_setting_t *s = config_setting_add(to, key, type);
	if (json_is_string(value))
		config_setting_set_string(s, json_string_value(value));
	else if (json_is_integer(value))
		config_setting_set_int(s, (int)json_integer_value(value));
	else if (json_is_boolean(value))
		config_setting_set_bool(s, json_is_true(value));
	json_object_foreach((json_t *)value, name, item) {
		put_value(s, name, item);
	}
	json_array_foreach((json_t *)value, i, item) {
		put_value(s, NULL, item);
	}
}

static int write_text(const char *dir, const char *name, const char *text, mode_t mode)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	if (!path || phx_file_write(path, text, strlen(text), mode, &err) < 0)
		return cli_fail(CLI_PARTIAL, "%s: %s", name, path ? err.text : "out of memory");
	return CLI_OK;
}

/* NAME.conf with one list; no file without groups. */
static int write_conf(const char *dir, const char *name, const json_t *groups)
{
	PHX_AUTO_FREE char *file = phx_path("%s.conf", name), *text = NULL;
	size_t n = 0;
	config_t cfg;
	if (!json_array_size(groups))
		return CLI_OK;
	FILE *f = open_memstream(&text, &n);
	if (!f || !file)
		return cli_fail(CLI_PARTIAL, "out of memory");
	config_init(&cfg);
	put_value(config_root_setting(&cfg), name, groups);
	config_write(&cfg, f);
	config_destroy(&cfg);
	fclose(f);
	return write_text(dir, file, text, 0644);
}

/* ---- machines ---- */

/* As the readers of these files take it. */
static bool is_line(const char *text)
{
	for (; *text; text += phx_utf8_length(text))
		if (*text != '\t' && phx_utf8_steering(text))
			return false;
	return true;
}

/* Each of these texts is one line of a file, or a part of one. */
static void check_texts(struct import *im, const json_t *machine, const json_t *texts)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)texts, key, value) {
		if (!is_line(phx_text(json_string_value(value))))
			import_wrong(im, (unsigned)phx_json_int(machine, "line", 0),
				     "%s: its %s must be one line without control characters",
				     phx_json_str(machine, "name", "?"), key);
	}
}

static void check_machines(struct import *im)
{
	size_t i;
	json_t *machine;
	json_array_foreach(im->machines, i, machine) {
		check_texts(im, machine, machine);
		check_texts(im, machine, json_object_get(machine, "bmc"));
	}
}

/* Each password has a file of its own, which the machines share that have it. */
static int write_password(const char *dir, json_t *bmc, json_t *known)
{
	const char *password = phx_json_str(bmc, "password", "");
	json_t *file = json_object_get(known, password);
	char name[64], path[128];
	if (!*password)
		return CLI_OK;
	snprintf(name, sizeof(name), "bmc/import-%zu", json_object_size(known) + 1);
	if (!file) {
		PHX_AUTO_FREE char *line = phx_path("%s\n", password);
		int code = line ? write_text(dir, name, line, 0600) : CLI_PARTIAL;
		if (code)
			return code;
		snprintf(path, sizeof(path), BMC_DIR "/%s", strrchr(name, '/') + 1);
		json_object_set_new(known, password, file = json_string(path));
	}
	json_object_set(bmc, "password_file", file);
	json_object_del(bmc, "password");
	return CLI_OK;
}

static int write_passwords(const char *dir, const json_t *machines)
{
	PHX_AUTO_JSON json_t *known = json_object();
	PHX_AUTO_FREE char *bmc_dir = phx_path("%s/bmc", dir);
	struct phx_err err = {0};
	int code = bmc_dir && phx_dir_make(bmc_dir, 0700, &err) == 0
		? CLI_OK
		: cli_fail(CLI_PARTIAL, "bmc: %s", err.text);
	size_t i;
	json_t *machine;
	json_array_foreach((json_t *)machines, i, machine) {
		if (!code && json_object_get(machine, "bmc"))
			code = write_password(dir, json_object_get(machine, "bmc"), known);
	}
	if (!code && !json_object_size(known))
		rmdir(bmc_dir);
	return code;
}

static void put_cell(struct phx_buf *b, const char *text)
{
	phx_buf_addf(b, "\"");
	for (; *text; text++)
		phx_buf_addf(b, *text == '"' ? "\"\"" : "%c", *text);
	phx_buf_addf(b, "\"");
}

static void put_machine(struct phx_buf *b, const json_t *machine)
{
	static const char *const keys[] = {"driver", "address", "user", "password_file"};
	const json_t *bmc = json_object_get(machine, "bmc");
	size_t i;
	json_t *mac;
	phx_buf_addf(b, "%s,", phx_json_str(machine, "name", ""));
	json_array_foreach(json_object_get(machine, "macs"), i, mac) {
		phx_buf_addf(b, "%s%s", i ? " " : "", json_string_value(mac));
	}
	phx_buf_addf(b, ",");
	put_cell(b, phx_json_str(machine, "serial", ""));
	phx_buf_addf(b, ",%s", phx_json_str(machine, "ip", ""));
	for (i = 0; i < PHX_ARRAY_SIZE(keys); i++) {
		phx_buf_addf(b, ",");
		put_cell(b, phx_json_str(bmc, keys[i], ""));
	}
	phx_buf_addf(b, "\n");
}

static void leave_out(void *arg, size_t i, const char *text)
{
	struct import *im = arg;
	json_t *machine = json_array_get(im->machines, i);
	import_left(im, (unsigned)phx_json_int(machine, "line", 0), "%s is not announced: %s",
		    phx_json_str(machine, "name", "?"), text);
	json_object_set_new(machine, "left", json_true());
}

/* Those that phx node add would refuse are left out, and said. */
static int write_machines(struct import *im, const char *dir)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *machine;
	int code = write_passwords(dir, im->machines);
	cli_nodes_check(im->machines, leave_out, im);
	phx_buf_addf(&b, "name,mac,serial,ip,bmc_driver,bmc_address,bmc_user,bmc_password_file\n");
	json_array_foreach(im->machines, i, machine) {
		if (json_object_get(machine, "left"))
			continue;
		put_machine(&b, machine);
		im->n_machines++;
	}
	return code ? code : write_text(dir, "machines.csv", b.data ? b.data : "", 0644);
}

/* ---- the whole ---- */

static void say(void *arg, const char *text)
{
	struct import *im = arg;
	fprintf(stderr, "phx: %s: phx site check would refuse it: %s\n", im->path, text);
}

static int check(struct import *im, const char *dir)
{
	struct phx_site site;
	struct phx_err err = {0};
	int r = phx_site_load(dir, say, im, &site, &err);
	if (r < 0)
		return cli_fail(CLI_PARTIAL, "%s", err.text);
	if (r > 0)
		return cli_fail(CLI_CONFIG, "%s: nothing was written", im->path);
	phx_record_fini(&phx_site_record, &site);
	return CLI_OK;
}

static int write_all(struct import *im, const char *dir)
{
	int code = write_machines(im, dir);
	code = code ? code : write_conf(dir, "networks", im->networks);
	code = code ? code : write_conf(dir, "profiles", im->profiles);
	code = code ? code : write_conf(dir, "nodes", im->nodes);
	code = code ? code : write_text(dir, "left.txt", im->left.data ? im->left.data : "", 0600);
	return code ? code : check(im, dir);
}

/* A directory of that name must not be there yet: what people have changed in it is theirs. */
static int publish(struct import *im, const char *to)
{
	PHX_AUTO_FREE char *dir = phx_path("%s.XXXXXX", to);
	if (access(to, F_OK) == 0)
		return cli_fail(CLI_USAGE, "%s is there already: name a new directory", to);
	if (!dir || !mkdtemp(dir))
		return cli_fail(CLI_PARTIAL, "%s: %s", to, strerror(errno));
	int code = write_all(im, dir);
	if (!code && (chmod(dir, 0755) < 0 || rename(dir, to) < 0))
		code = cli_fail(CLI_PARTIAL, "%s: %s", to, strerror(errno));
	if (code)
		phx_dir_remove(dir, NULL);
	return code;
}

static int print_outcome(struct cli *cli, const struct import *im, const char *dir)
{
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s,s:I,s:I,s:I,s:I,s:I}", "directory", dir, "networks",
			  (json_int_t)json_array_size(im->networks), "profiles",
			  (json_int_t)json_array_size(im->profiles), "nodes",
			  (json_int_t)json_array_size(im->nodes), "machines",
			  (json_int_t)im->n_machines, "left", (json_int_t)im->n_left);
	if (cli_structured(cli))
		return cli_print_value(cli, j) ? CLI_PARTIAL : CLI_OK;
	printf("%s: %zu networks, %zu profiles, settings of %zu nodes, %zu machines\n", dir,
	       json_array_size(im->networks), json_array_size(im->profiles),
	       json_array_size(im->nodes), im->n_machines);
	if (im->n_left)
		printf("%u things have no place here: %s/left.txt, with their lines\n", im->n_left,
		       dir);
	printf("machines.csv is for phx node add --from; the files of bmc/ belong into " BMC_DIR
	       " of the head\n");
	return CLI_OK;
}

static int import_by(struct cli *cli, bool warewulf)
{
	struct import im = {.path = cli_arg(cli, 0),
			    .networks = json_array(),
			    .profiles = json_array(),
			    .nodes = json_array(),
			    .machines = json_array()};
	const char *dir = cli_arg(cli, 1);
	PHX_AUTO_FREE char *text = NULL;
	struct phx_err err = {0};
	size_t n = 0;
	int r = phx_file_read(im.path, FILE_BYTES_MAX, &text, &n, &err), code = CLI_OK;
	if (r < 0)
		code = cli_fail(CLI_USAGE, "%s", err.text);
	else if (strlen(text) != n)
		code = cli_fail(CLI_USAGE, "%s is no text: it has a byte 0", im.path);
	else if (warewulf)
		import_warewulf(&im, text, n);
	else
		import_xcat(&im, text);
	check_machines(&im);
	if (!code && im.n_wrong)
		code = cli_fail(CLI_CONFIG, "%s: nothing was written", im.path);
	else if (!code && !json_array_size(im.nodes) && !json_array_size(im.machines))
		code = cli_fail(CLI_CONFIG, "%s: there is no node in it", im.path);
	code = code ? code : publish(&im, dir);
	code = code ? code : print_outcome(cli, &im, dir);
	json_decref(im.networks);
	json_decref(im.profiles);
	json_decref(im.nodes);
	json_decref(im.machines);
	phx_buf_fini(&im.left);
	return code;
}

int cmd_import_xcat(struct cli *cli)
{
	return import_by(cli, false);
}

int cmd_import_warewulf(struct cli *cli)
{
	return import_by(cli, true);
}
