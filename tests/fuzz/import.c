/* Files of other tools, as phx import takes them: the first byte says whose, an x that of xCAT,
 * else of Warewulf. What is taken is there as a whole, and phx site check and phx node add read
 * what was read; otherwise nothing is there, and a line says why that steers no terminal.
 * Parsers: cmd/phx/import_xcat.c cmd/phx/import_warewulf.c cmd/phx/import_read.c
 * Parsers: cmd/phx/import.c */
#include <dirent.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/utf8.h"
#include "config/site.h"
#include "fuzz/fuzz.h"
#include "phx/import.h"
#include "phx/node_add.h"

static char in[256], out[256];
static json_t *printed;

/* ---- the program around it ---- */

const char *cli_arg(const struct cli *cli, unsigned i)
{
	(void)cli;
	return i ? out : in;
}

bool cli_structured(const struct cli *cli)
{
	(void)cli;
	return true;
}

int cli_print_value(struct cli *cli, const json_t *value)
{
	(void)cli;
	printed = json_deep_copy(value);
	return 0;
}

const char *cli_opt(const struct cli *cli, enum cli_option_id id, const char *fallback)
{
	(void)cli, (void)id;
	return fallback;
}

bool cli_has(const struct cli *cli, enum cli_option_id id)
{
	(void)cli, (void)id;
	return false;
}

/* What is said on stderr meanwhile; the caller frees it. */
struct hearing {
	FILE *was;
	char *text;
	size_t n;
};

static void listen(struct hearing *h)
{
	*h = (struct hearing){.was = stderr};
	stderr = open_memstream(&h->text, &h->n);
	if (!stderr)
		abort();
}

static char *heard(struct hearing *h)
{
	fclose(stderr);
	stderr = h->was;
	return h->text;
}

/* ---- what is said ---- */

/* Whole lines that steer nothing. */
static void check_lines(const char *text)
{
	fuzz_never(*text && text[strlen(text) - 1] != '\n');
	for (const char *p = text; *p;) {
		size_t n = phx_utf8_length(p);
		fuzz_never(!n || (*p != '\n' && phx_utf8_steering(p)));
		p += n;
	}
}

/* "LINE: what" for each thing, of a line that the file has. */
static void check_left(const char *text, unsigned lines)
{
	json_int_t n = 0;
	check_lines(text);
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1, n++) {
		char *end;
		unsigned long line = strtoul(at, &end, 10);
		fuzz_never(end == at || !phx_str_starts(end, ": ") || !line || line > lines);
	}
	fuzz_never(n != phx_json_int(printed, "left", -1));
}

/* No line is passed over because it is no text; what people say to themselves is. */
static void check_text(char *text)
{
	for (char *line = text, *next; *line; line = next) {
		next = fuzz_line(line);
		if (line[strspn(line, " \t")] == '#')
			continue;
		for (size_t n; *line; line += n)
			fuzz_never((n = phx_utf8_length(line)) == 0);
	}
}

/* ---- what was written is read as it was read ---- */

static void same_text(const json_t *j, const char *key, const char *is)
{
	fuzz_never(strcmp(phx_json_str(j, key, ""), is) != 0);
}

static void same_words(const json_t *j, const char *key, const struct phx_list *is)
{
	const json_t *list = json_object_get(j, key);
	fuzz_never(json_array_size(list) != is->n);
	for (uint32_t i = 0; i < is->n; i++)
		fuzz_never(strcmp(json_string_value(json_array_get(list, i)),
				  PHX_LIST_AT(is, struct phx_site_value, i)->text) != 0);
}

static void same_set(const json_t *j, const struct phx_site_set *is)
{
	const json_t *nics = json_object_get(j, "nics"),
		     *variables = json_object_get(j, "variables");
	same_text(j, "name", is->name);
	same_text(j, "nodes", is->nodes);
	same_words(j, "profiles", &is->profiles);
	same_words(j, "kernel_args", &is->kernel_args);
	fuzz_never(json_array_size(nics) != is->nics.n ||
		   json_object_size(variables) != is->variables.n);
	PHX_LIST_EACH(struct phx_site_value, v, &is->variables)
		same_text(variables, v->name, v->text);
	for (uint32_t i = 0; i < is->nics.n; i++) {
		const struct phx_site_nic *n = PHX_LIST_AT(&is->nics, struct phx_site_nic, i);
		const json_t *nic = json_array_get(nics, i);
		same_text(nic, "name", n->name);
		same_text(nic, "network", n->network);
		same_text(nic, "address", n->address);
		fuzz_never(json_is_true(json_object_get(nic, "default_route")) != n->default_route);
	}
}

static void same_network(const json_t *j, const struct phx_site_network *is)
{
	same_text(j, "name", is->name);
	same_text(j, "subnet", is->subnet);
	same_text(j, "gateway", is->gateway);
	same_text(j, "domain", is->domain);
	fuzz_never(phx_json_int(j, "mtu", 0) != is->mtu || phx_json_int(j, "vlan", 0) != is->vlan ||
		   json_array_size(json_object_get(j, "dns")) != is->dns.n);
}

static void same_settings(const struct import *im)
{
	struct phx_site site;
	struct hearing h;
	listen(&h);
	int r = phx_site_load(out, (phx_site_say_fn)fputs, NULL, &site, NULL);
	free(heard(&h));
	fuzz_never(r != 0);
	fuzz_never(json_array_size(im->networks) != site.networks.n ||
		   json_array_size(im->profiles) != site.profiles.n ||
		   json_array_size(im->nodes) != site.nodes.n);
	for (uint32_t i = 0; i < site.networks.n; i++)
		same_network(json_array_get(im->networks, i),
			     PHX_LIST_AT(&site.networks, struct phx_site_network, i));
	for (uint32_t i = 0; i < site.profiles.n; i++)
		same_set(json_array_get(im->profiles, i),
			 PHX_LIST_AT(&site.profiles, struct phx_site_set, i));
	for (uint32_t i = 0; i < site.nodes.n; i++)
		same_set(json_array_get(im->nodes, i),
			 PHX_LIST_AT(&site.nodes, struct phx_site_set, i));
	phx_record_fini(&phx_site_record, &site);
}

/* The file of a password: one line, for root alone. */
static void same_password(const json_t *bmc, const char *file)
{
	const char *password = phx_json_str(bmc, "password", ""), *name = strrchr(file, '/');
	PHX_AUTO_FREE char *path = phx_path("%s/bmc/%s", out, name ? name + 1 : "");
	PHX_AUTO_FREE char *text = NULL;
	struct stat st;
	fuzz_never(!*password != !*file);
	if (!*password)
		return;
	fuzz_never(stat(path, &st) < 0 || (st.st_mode & 07777) != 0600);
	fuzz_never(phx_file_read(path, 1 << 20, &text, NULL, NULL) < 0);
	size_t n = strcspn(text, "\r\n");
	fuzz_never(n != strlen(password) || memcmp(text, password, n) != 0);
}

static void same_machine(const json_t *j, const json_t *is)
{
	const json_t *bmc = json_object_get(j, "bmc"), *its = json_object_get(is, "bmc");
	size_t n = json_array_size(json_object_get(j, "macs"));
	same_text(j, "name", phx_json_str(is, "name", ""));
	same_text(j, "serial", phx_json_str(is, "serial", ""));
	same_text(j, "ip", phx_json_str(is, "ip", ""));
	same_text(bmc, "driver", phx_json_str(its, "driver", ""));
	same_text(bmc, "address", phx_json_str(its, "address", ""));
	same_text(bmc, "user", phx_json_str(its, "user", ""));
	same_password(bmc, phx_json_str(its, "password_file", ""));
	fuzz_never(n != json_array_size(json_object_get(is, "macs")));
	for (size_t i = 0; i < n; i++)
		fuzz_never(!json_equal(json_array_get(json_object_get(j, "macs"), i),
				       json_array_get(json_object_get(is, "macs"), i)));
}

static void note_left(void *machines, size_t i, const char *text)
{
	(void)text;
	json_object_set_new(json_array_get(machines, i), "left", json_true());
}

/* phx node add takes all of them, in their order. */
static void same_machines(const struct import *im)
{
	PHX_AUTO_FREE char *path = phx_path("%s/machines.csv", out);
	PHX_AUTO_JSON json_t *nodes = json_array();
	struct hearing h;
	size_t i, k = 0;
	json_t *machine;
	cli_nodes_check(im->machines, note_left, im->machines);
	listen(&h);
	int code = cli_nodes_csv(path, nodes);
	free(heard(&h));
	json_array_foreach(im->machines, i, machine) {
		if (!json_object_get(machine, "left"))
			same_machine(machine, json_array_get(nodes, k++));
	}
	fuzz_never(json_array_size(nodes) != k || (code != 0) != (k == 0));
	fuzz_never((json_int_t)k != phx_json_int(printed, "machines", -1));
}

static void check_taken(const struct import *im, unsigned lines)
{
	PHX_AUTO_FREE char *path = phx_path("%s/left.txt", out);
	PHX_AUTO_FREE char *left = NULL;
	struct stat st;
	fuzz_never(stat(path, &st) < 0 || (st.st_mode & 07777) != 0600);
	fuzz_never(phx_file_read(path, 64 << 20, &left, NULL, NULL) < 0);
	check_left(left, lines);
	same_settings(im);
	same_machines(im);
}

/* Neither the directory nor a part of it. */
static void check_nothing(void)
{
	DIR *d = opendir(fuzz_dir());
	fuzz_never(!d);
	for (const struct dirent *e; (e = readdir(d));)
		fuzz_never(phx_str_starts(e->d_name, "out"));
	closedir(d);
}

/* ---- an input ---- */

static int import(bool xcat)
{
	struct cli cli = {.argv = NULL};
	struct hearing h;
	listen(&h);
	int code = xcat ? cmd_import_xcat(&cli) : cmd_import_warewulf(&cli);
	PHX_AUTO_FREE char *said = heard(&h);
	check_lines(said);
	fuzz_never((code == 0) != !*said || (code == 0) != (printed != NULL));
	return code;
}

/* The same as its reader alone has it. */
static void read_it(struct import *im, bool xcat, char *text)
{
	struct hearing h;
	*im = (struct import){.path = in,
			      .networks = json_array(),
			      .profiles = json_array(),
			      .nodes = json_array(),
			      .machines = json_array()};
	listen(&h);
	if (xcat)
		import_xcat(im, text);
	else
		import_warewulf(im, text, strlen(text));
	free(heard(&h));
}

/* As many lines as its reader can name: YAML ends one at \r, U+0085, U+2028 and U+2029, too. */
static unsigned lines_of(const uint8_t *data, size_t n, bool yaml)
{
	unsigned lines = 1;
	for (size_t i = 0; i < n; i++)
		lines += data[i] == '\n' ||
			(yaml &&
			 (data[i] == '\r' || data[i] == 0x85 || data[i] == 0xa8 ||
			  data[i] == 0xa9));
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct import im;
	if (!n)
		return 0;
	bool xcat = data[0] == 'x';
	PHX_AUTO_FREE char *text = fuzz_text(data + 1, n - 1);
	snprintf(in, sizeof(in), "%s", fuzz_file("in", data + 1, n - 1));
	snprintf(out, sizeof(out), "%s/out", fuzz_dir());
	if (import(xcat)) {
		check_nothing();
		return 0;
	}
	read_it(&im, xcat, text);
	check_taken(&im, lines_of(data + 1, n - 1, !xcat));
	json_decref(PHX_TAKE(printed));
	PHX_AUTO_FREE char *again = fuzz_text(data + 1, n - 1);
	check_text(again);
	/* what is there is somebody's */
	fuzz_never(import(xcat) == 0 || printed || phx_dir_remove(out, NULL) < 0);
	json_decref(im.networks);
	json_decref(im.profiles);
	json_decref(im.nodes);
	json_decref(im.machines);
	phx_buf_fini(&im.left);
	return 0;
}
