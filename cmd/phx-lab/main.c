/* phx-lab: an emulated cluster on this machine, made of a network namespace,
 * QEMU machines with virtual BMCs, and phxd as their head. Run by `phx lab`
 * and, as `phx-lab bmc`, by the BMCs themselves. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"
#include "phx-lab/lab.h"

enum { STOP_MS = 10000, EXIT_USAGE_ = 64, EXIT_CONFIG_ = 78 };

/* What the command line says, with its defaults. */
struct request {
	const char *conf;     /* -f */
	const char *name;     /* -n, NULL: what lab.conf says, else "phoenix" */
	const char *labs_dir; /* -d */
	const char *source;   /* -s */
	const char *images;   /* -i */
	const char *like;     /* -l */
	bool no_head, no_announce, json;
	int argc;
	char **argv; /* what follows the options */
};

static int fail(int r, const struct phx_err *err)
{
	fprintf(stderr, "phx lab: %s\n", err->text[0] ? err->text : strerror(-r));
	return r == -EINVAL ? EXIT_CONFIG_ : 1;
}

static int usage(const char *text)
{
	fprintf(stderr, "phx lab: %s\n", text);
	return EXIT_USAGE_;
}

/* ---- down ---- */

static int take_down(const struct lab *lab, struct phx_err *err)
{
	int r = lab_head_stop(lab, err);
	PHX_LIST_EACH(struct lab_machine, m, &lab->machines) {
		int a = lab_bmc_stop(lab, m, err);
		int b = lab_machine_off(lab, m, err);
		r = r < 0 ? r : a < 0 ? a : b;
	}
	int a = lab_net_down(lab, err);
	return r < 0 ? r : a;
}

/* The lab of that name; where none was said, the only one there is. */
static int find_lab(const struct request *q, struct lab *ret, struct phx_err *err)
{
	char name[LAB_NAME_MAX];
	int r = q->name ? PHX_STR_SET(name, q->name) : lab_only(q->labs_dir, name, err);
	return r < 0 ? r : lab_load(q->labs_dir, name, ret, err);
}

static int lab_down(struct request *q)
{
	LAB_AUTO struct lab lab = {0};
	struct phx_err err = {0};
	int r = find_lab(q, &lab, &err);
	if (r == -ENOENT) {
		fprintf(stderr, "phx lab: %s is not up\n", q->name ? q->name : "a lab");
		return 0;
	}
	if (r == 0)
		r = take_down(&lab, &err);
	return r < 0 ? fail(r, &err) : 0;
}

/* ---- up ---- */

static int absolute(const char *path, char *ret, size_t size, struct phx_err *err)
{
	char full[PATH_MAX];
	if (!realpath(path, full))
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (strpbrk(full, " ,\"\\")) /* QEMU's and ipmi_sim's option syntax */
		return phx_err_set(err, -EINVAL,
				   "%s: a lab cannot live under a path with a blank, ',' or quotes",
				   full);
	return phx_str_copy(ret, size, full) < 0
		? phx_err_set(err, -ENAMETOOLONG, "%s: path too long", full)
		: 0;
}

/* Directories: what the lab is made of, and its own. Nothing of an earlier lab of that name
 * stays. */
static int set_dirs(const struct request *q, struct lab *lab, struct phx_err *err)
{
	char labs[sizeof(lab->dir)] = "";
	int r = phx_dir_make(q->labs_dir, 0755, err);
	if (r == 0)
		r = absolute(q->labs_dir, labs, sizeof(labs), err);
	if (r == 0)
		r = absolute(q->source, lab->source, sizeof(lab->source), err);
	if (r == 0 && !q->no_head)
		r = absolute(q->images, lab->images, sizeof(lab->images), err);
	if (r == 0 && lab->head_conf[0])
		r = absolute(lab->head_conf, lab->head_conf, sizeof(lab->head_conf), err);
	if (r == 0 &&
	    snprintf(lab->dir, sizeof(lab->dir), "%s/%s", labs, lab->name) >= (int)sizeof(lab->dir))
		r = phx_err_set(err, -ENAMETOOLONG, "%s: path too long", labs);
	return r;
}

static int make_place(const struct lab *lab, struct phx_err *err)
{
	PHX_AUTO_FREE char *etc = phx_path("%s/etc", lab->dir);
	int r = etc ? phx_dir_remove(lab->dir, err) : -ENOMEM;
	if (r == 0)
		r = phx_dir_make(etc, 0755, err);
	if (r == 0)
		r = lab_bmc_password_make(lab, err);
	return r < 0 ? r : lab_save(lab, err);
}

static int start_machine(const struct request *q, const struct lab *lab,
			 const struct lab_machine *m, struct phx_err *err)
{
	int r = lab_machine_make(lab, m, err);
	if (r == 0)
		r = lab_bmc_start(lab, m, err);
	return r < 0 || q->no_head || q->no_announce ? r : lab_head_announce(lab, m, err);
}

static int bring_up(const struct request *q, const struct lab *lab, struct phx_err *err)
{
	int r = q->no_head ? 0 : lab_head_prepare(lab, err);
	if (r == 0)
		r = lab_net_up(lab, err);
	if (r == 0 && !q->no_head)
		r = lab_head_start(lab, err);
	if (r == 0 && !q->no_head)
		r = lab_head_networks(lab, err);
	PHX_LIST_EACH(struct lab_machine, m, &lab->machines)
		if (r == 0)
			r = start_machine(q, lab, m, err);
	if (r < 0)
		take_down(lab, NULL);
	return r;
}

/* One that is up already stays as it is. */
static bool is_up(const struct request *q, const struct lab *lab)
{
	return lab_net_exists(lab) && (q->no_head || lab_head_pid(lab));
}

/* Labs of several checkouts begin one after the other: what one finds free, and takes down when it
 * cannot begin, must not be another one's that begins just now. Alone until *ret is closed. */
static int begin_alone(int *ret, struct phx_err *err)
{
	static const char path[] = "/run/phx-lab.lock";
	*ret = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*ret < 0 || flock(*ret, LOCK_EX) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

/* Another checkout may have a lab of this name: namespaces are the machine's. */
static int name_netns(struct lab *lab, struct phx_err *err)
{
	enum { NUMBERS = 100 };
	for (int i = 2; lab_net_is_taken(lab) && i < NUMBERS; i++)
		snprintf(lab->netns, sizeof(lab->netns), "phx-%.*s-%d", LAB_NAME_MAX - 1, lab->name,
			 i);
	if (lab_net_is_taken(lab))
		return phx_err_set(
			err, -EEXIST,
			"namespaces phx-%s to %s exist: end the labs of other directories",
			lab->name, lab->netns);
	if (lab->netns[0])
		fprintf(stderr,
			"phx lab: a lab of another directory has the namespace phx-%s; this one "
			"gets %s\n",
			lab->name, lab->netns);
	return 0;
}

static int lab_up(struct request *q)
{
	LAB_AUTO struct lab lab = {0};
	LAB_AUTO struct lab old = {0};
	PHX_AUTO_CLOSE int lock = -1;
	struct phx_err err = {0};
	if (geteuid() != 0)
		return usage("making a network namespace needs root");
	int r = lab_conf_load(q->conf, q->name, &lab, &err);
	if (r == 0)
		r = set_dirs(q, &lab, &err);
	if (r == 0)
		r = begin_alone(&lock, &err);
	bool there = r == 0 && lab_load(q->labs_dir, lab.name, &old, NULL) == 0;
	if (there && is_up(q, &old)) {
		fprintf(stderr, "phx lab: %s is up\n", lab.name);
		return 0;
	}
	if (there)
		r = take_down(&old, &err); /* what an interrupted one left */
	if (r == 0)
		r = name_netns(&lab, &err);
	if (r == 0)
		r = make_place(&lab, &err);
	if (r == 0)
		r = bring_up(q, &lab, &err);
	if (r < 0)
		return fail(r, &err);
	printf("lab %s: %u machines, socket %s/phxd.sock\n", lab.name, lab.machines.n, lab.dir);
	return 0;
}

/* ---- commands on a lab that is there ---- */

static int add_machines(const struct request *q, struct lab *lab, struct phx_err *err)
{
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	uint32_t before = lab->machines.n;
	const struct lab_machine *like = PHX_LIST_AT(&lab->machines, struct lab_machine, 0);
	if (q->like && !(like = lab_machine_find(lab, q->like)))
		return phx_err_set(err, -ENOENT, "there is no machine '%s'", q->like);
	int r = phx_nodeset_parse(q->argv[0], NULL, NULL, &names, err);
	if (r == 0)
		r = lab_conf_add(lab, &names, like, err);
	if (r == 0)
		r = lab_save(lab, err);
	for (uint32_t i = before; r == 0 && i < lab->machines.n; i++) {
		const struct lab_machine *m = PHX_LIST_AT(&lab->machines, struct lab_machine, i);
		r = lab_net_add(lab, m, err);
		if (r == 0)
			r = start_machine(q, lab, m, err);
	}
	return r;
}

typedef int (*machine_fn)(const struct lab *lab, const struct lab_machine *m, struct phx_err *err);

/* Do it to each machine the list names; all are checked first. */
static int each_machine(const struct request *q, const struct lab *lab, machine_fn fn,
			struct phx_err *err)
{
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	int r = phx_nodeset_parse(q->argv[0], NULL, NULL, &names, err);
	for (uint32_t i = 0; r == 0 && i < names.n; i++)
		if (!lab_machine_find(lab, names.names[i]))
			r = phx_err_set(err, -ENOENT, "there is no machine '%s' in lab %s",
					names.names[i], lab->name);
	for (uint32_t i = 0; r == 0 && i < names.n; i++)
		r = fn(lab, lab_machine_find(lab, names.names[i]), err);
	return r;
}

static int kill_machines(const struct request *q, struct lab *lab, struct phx_err *err)
{
	return each_machine(q, lab, lab_machine_off, err);
}

static int start_machines(const struct request *q, struct lab *lab, struct phx_err *err)
{
	return each_machine(q, lab, lab_machine_on, err);
}

static int print_console(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	(void)err;
	PHX_AUTO_FREE char *path = lab_machine_path(lab, m, "console.log");
	return path && puts(path) >= 0 ? 0 : -ENOMEM;
}

static int consoles(const struct request *q, struct lab *lab, struct phx_err *err)
{
	return each_machine(q, lab, print_console, err);
}

static int restart_head(const struct request *q, struct lab *lab, struct phx_err *err)
{
	(void)q;
	return lab_head_start(lab, err);
}

static int status_json(const struct lab *lab)
{
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&lab_record, lab);
	PHX_AUTO_FREE char *password = lab_bmc_password_path(lab);
	if (!j || !password)
		return -ENOMEM;
	json_object_set_new(j, "head_pid", json_integer(lab_head_pid(lab)));
	json_object_set_new(j, "bmc_user", json_string(LAB_BMC_USER));
	json_object_set_new(j, "bmc_password_file", json_string(password));
	size_t i;
	json_t *m;
	json_array_foreach(json_object_get(j, "machines"), i, m)
		json_object_set_new(
			m, "on",
			json_boolean(lab_machine_is_on(
				lab, PHX_LIST_AT(&lab->machines, struct lab_machine, i))));
	PHX_AUTO_FREE char *text = phx_json_text(j);
	return text && puts(text) >= 0 ? 0 : -ENOMEM;
}

static int show_status(const struct request *q, struct lab *lab, struct phx_err *err)
{
	char size[32];
	(void)err;
	if (q->json)
		return status_json(lab);
	int pid = lab_head_pid(lab);
	printf("lab %s in %s\nhead: %s", lab->name, lab->dir,
	       pid ? "phxd runs" : "phxd does not run");
	printf(pid ? " (pid %d)\n" : "\n", pid);
	PHX_LIST_EACH(struct lab_machine, m, &lab->machines)
		printf("%-12s %-4s %-4s %-18s %-13s %-14s %u CPU %s, %u disks\n", m->name,
		       lab_machine_is_on(lab, m) ? "on" : "off",
		       phx_enum_name(&lab_firmware_names, m->firmware), m->mac, m->ip,
		       !m->bmc                        ? "no BMC"
			       : lab_bmc_runs(lab, m) ? m->bmc_ip
						      : "BMC is down",
		       m->cpus, phx_size_format(m->memory_bytes, size, sizeof(size)), m->disks.n);
	return 0;
}

/* A program inside the lab's network: curl a node's page, ipmitool a BMC. */
static int run_inside(const struct request *q, struct lab *lab, struct phx_err *err)
{
	int r = lab_net_enter(lab, err);
	if (r < 0)
		return r;
	fflush(NULL);
	execvp(q->argv[0], q->argv);
	return phx_err_set(err, -errno, "%s: %s", q->argv[0], strerror(errno));
}

/* ---- the words ---- */

static const struct lab_word {
	const char *word, *arguments, *text;
	int min, max;
	int (*special)(struct request *q); /* makes or finds the lab itself, or: */
	int (*run)(const struct request *q, struct lab *lab, struct phx_err *err);
} lab_words[] = {
	{"up", "", "make the lab of the configuration file; machines are off", 0, 0, lab_up, NULL},
	{"down", "", "end it: head, BMCs, machines, network; logs and disks stay", 0, 0, lab_down,
	 NULL},
	{"status", "", "what runs; --json: everything there is to know", 0, 0, NULL, show_status},
	{"add", "MACHINES", "more machines like the first one or --like MACHINE", 1, 1, NULL,
	 add_machines},
	{"on", "MACHINES", "switch machines on by hand", 1, 1, NULL, start_machines},
	{"kill", "MACHINES", "power cut", 1, 1, NULL, kill_machines},
	{"console", "MACHINES", "paths of the console logs", 1, 1, NULL, consoles},
	{"head", "", "start phxd again when it does not run", 0, 0, NULL, restart_head},
	{"exec", "CMD...", "run a command in the lab's network", 1, INT_MAX, NULL, run_inside},
};

static int help(FILE *out, int code)
{
	fprintf(out, "usage: phx lab [options] WORD [options] [ARGUMENTS]\n\n");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lab_words); i++)
		fprintf(out, "  %-8s %-9s %s\n", lab_words[i].word, lab_words[i].arguments,
			lab_words[i].text);
	fprintf(out,
		"\n"
		"  -f, --file FILE     lab.conf; default etc/lab.conf\n"
		"  -n, --name NAME     name of the lab; default: the only one there is; up: what "
		"lab.conf says, "
		"else phoenix\n"
		"  -d, --dir DIR       where labs live; default $PHX_LAB_DIR, else build/lab\n"
		"  -s, --source DIR    where roles/ and pxe/ are; default: here\n"
		"  -i, --images DIR    built images; default build/images\n"
		"  -l, --like MACHINE  add: the machine to copy\n"
		"      --no-head       up: network, BMCs and machines without phxd\n"
		"      --no-announce   up, add: do not tell phxd of the machines\n"
		"      --json          status: as JSON\n");
	return code;
}

static int run_word(const struct lab_word *w, struct request *q)
{
	LAB_AUTO struct lab lab = {0};
	struct phx_err err = {0};
	if (q->argc < w->min || q->argc > w->max)
		return usage(w->min ? "a list of machines or a command is missing"
				    : "too many words");
	if (w->special)
		return w->special(q);
	int r = find_lab(q, &lab, &err);
	if (r == 0)
		r = w->run(q, &lab, &err);
	return r < 0 ? fail(r, &err) : 0;
}

/* phx-lab bmc LAB_DIR MACHINE WORD...; see bmc.c */
static int run_bmc(int argc, char **argv)
{
	LAB_AUTO struct lab lab = {0};
	struct phx_err err = {0};
	char *slash = argc > 3 ? strrchr(argv[0], '/') : NULL;
	if (!slash)
		return EXIT_USAGE_;
	*slash = '\0';
	int r = lab_load(argv[0], slash + 1, &lab, &err);
	const struct lab_machine *m = r == 0 ? lab_machine_find(&lab, argv[1]) : NULL;
	if (!m)
		return fail(r < 0 ? r : -ENOENT, &err);
	return lab_bmc_chassis(&lab, m, argc - 2, argv + 2);
}

/* A command of others keeps its own options. */
static int parse_options(struct request *q, bool foreign, int argc, char **argv)
{
	static const struct option options[] = {
		{"file", required_argument, NULL, 'f'},   {"name", required_argument, NULL, 'n'},
		{"dir", required_argument, NULL, 'd'},    {"source", required_argument, NULL, 's'},
		{"images", required_argument, NULL, 'i'}, {"like", required_argument, NULL, 'l'},
		{"no-head", no_argument, NULL, 'H'},      {"no-announce", no_argument, NULL, 'A'},
		{"json", no_argument, NULL, 'j'},         {0},
	};
	const char **texts[] = {['f'] = &q->conf,   ['n'] = &q->name,   ['d'] = &q->labs_dir,
				['s'] = &q->source, ['i'] = &q->images, ['l'] = &q->like};
	bool *flags[] = {['H'] = &q->no_head, ['A'] = &q->no_announce, ['j'] = &q->json};
	optind = 0;
	for (int c; (c = getopt_long(argc, argv, foreign ? "+f:n:d:s:i:l:" : "f:n:d:s:i:l:",
				     options, NULL)) != -1;) {
		if (c == '?')
			return EXIT_USAGE_;
		if (optarg)
			*texts[c] = optarg;
		else
			*flags[c] = true;
	}
	q->argc = argc - optind;
	q->argv = argv + optind;
	return 0;
}

static int run(int argc, char **argv)
{
	const char *labs_dir = getenv("PHX_LAB_DIR");
	struct request q = {.conf = "etc/lab.conf",
			    .labs_dir = labs_dir ? labs_dir : "build/lab",
			    .source = ".",
			    .images = "build/images"};
	if (argc > 1 && !strcmp(argv[1], "bmc"))
		return run_bmc(argc - 2, argv + 2);
	int r = argc > 1 && argv[1][0] == '-' && strcmp(argv[1], "--help")
		? parse_options(&q, true, argc, argv)
		: 0;
	if (r)
		return r;
	/* options may stand in front of the word too */
	if (q.argv) {
		argc = q.argc + 1;
		argv = q.argv - 1;
	}
	const char *word = argc > 1 ? argv[1] : "help";
	if (!strcmp(word, "help") || !strcmp(word, "--help"))
		return help(stdout, 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lab_words); i++)
		if (!strcmp(lab_words[i].word, word)) {
			r = parse_options(&q, lab_words[i].max == INT_MAX, argc - 1, argv + 1);
			return r ? r : run_word(&lab_words[i], &q);
		}
	return help(stderr, EXIT_USAGE_);
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	int code = run(argc, argv);
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) {
		struct phx_err err = {0};
		return fail(phx_err_set(&err, -EIO, "standard output: %s",
					strerror(errno ? errno : EIO)),
			    &err);
	}
	return code;
}
