/* How the head uses the hands (cmd/phxd/hands.c): how the process is started, that its restarts
 * are told, and which files that BMCs of nodes name it is asked about at the start: each once, a
 * bounded number of them, without the engine's lock. The process and the engine are fakes. */
#include "base/file.h"
#include "fake/submitted.h"
#include "phxd/apart.c" /* parts of a program, not of the library */
#include "phxd/hands.c"

static struct daemon d;
static struct phx_state s;
static struct hands *h;
static struct phx_err err;

/* ---- the process ---- */

struct phx_hands {
	unsigned n_ready, n_ends;
	const char *bad; /* as such a name of a file begins; NULL: all are good */
	struct phx_buf asked;
};
static struct phx_hands process;
static int fake_start;
static struct phx_hands_config started_with;

int phx_hands_start(const struct phx_hands_config *config, struct phx_hands **ret,
		    struct phx_err *e)
{
	started_with = *config;
	if (fake_start < 0)
		return phx_err_set(e, fake_start, "no hands");
	*ret = &process;
	return 0;
}
void phx_hands_end(struct phx_hands *p)
{
	if (p)
		p->n_ends++;
}
pid_t phx_hands_pid(struct phx_hands *p)
{
	assert_ptr_equal(p, &process);
	return 4711;
}
int phx_hands_ready(struct phx_hands *p, const struct phx_bmc *bmc, struct phx_err *e)
{
	assert_false(fake_engine_held); /* it reads files, and may have to be started again */
	p->n_ready++;
	phx_buf_addf(&p->asked, "%s ", bmc->node);
	return p->bad && phx_str_starts(bmc->password_file, p->bad)
		? phx_err_set(e, -EINVAL, "%s is bad", bmc->password_file)
		: 0;
}

int launch_hands(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *e)
{
	(void)launch, (void)ret_fd, (void)ret_pid;
	return phx_err_set(e, -ENOSYS, "nobody starts them here");
}
void wake_in(struct wake *w, int ms)
{
	(void)w, (void)ms;
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	process = (struct phx_hands){0};
	fake_start = 0;
	phx_err_clear(&err);
	if (phx_state_init(&s) < 0)
		return -1;
	fake_state = &s;
	d = (struct daemon){.launch = (struct launch *)&d};
	return hands_new(&d, &h, &err);
}

static int teardown(void **state)
{
	(void)state;
	hands_free(PHX_TAKE(h));
	phx_buf_fini(&process.asked);
	phx_state_fini(&s);
	return 0;
}

static void add_node(const char *password_file, const char *script)
{
	struct phx_node *n = phx_list_push(&s.nodes, sizeof(*n));
	n->number = s.nodes.n;
	snprintf(n->name, sizeof(n->name), "n%u", s.nodes.n);
	PHX_STR_SET(n->bmc.node, n->name);
	PHX_STR_SET(n->bmc.password_file, password_file);
	PHX_STR_SET(n->bmc.script, script);
}

/* What it says on standard error meanwhile. Owned by the caller. */
static char *look(void)
{
	FILE *f = tmpfile();
	int was = dup(STDERR_FILENO);
	assert_non_null(f);
	dup2(fileno(f), STDERR_FILENO);
	hands_look(h);
	dup2(was, STDERR_FILENO);
	close(was);
	rewind(f);
	char *text = calloc(1, 1 << 16);
	assert_true(fread(text, 1, (1 << 16) - 1, f) < (1 << 16) - 1);
	fclose(f);
	fake_engine_is_free();
	return text;
}

static void assert_asked(const char *want)
{
	assert_string_equal(process.asked.n ? process.asked.data : "", want);
}

static unsigned count_lines(const char *text)
{
	unsigned n = 0;
	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/* ---- the start ---- */

static void they_are_started_by_the_launcher_as_the_configuration_says(void **state)
{
	struct phx_config cfg = {0};
	(void)state;
	assert_ptr_equal(started_with.start, launch_hands);
	assert_ptr_equal(started_with.start_arg, d.launch);
	assert_ptr_equal(started_with.restarted, apart_restarted);
	PHX_STR_SET(cfg.hands_user, "phx-hands");
	PHX_STR_SET(cfg.bmc_dir, "/etc/phoenix/bmc");
	PHX_STR_SET(cfg.run_dir, "/run/phoenix");
	struct phx_hands_config c = hands_config(&cfg);
	assert_string_equal(c.user, "phx-hands");
	assert_string_equal(c.bmc_dir, "/etc/phoenix/bmc");
	assert_string_equal(c.run_dir, "/run/phoenix");
	assert_ptr_equal(c.paths, &cfg.hands_paths);
	assert_ptr_equal(c.anchor, &cfg.anchor_program);
	assert_null(c.start); /* the launcher starts them itself */
	assert_ptr_equal(hands_process(h), &process);
}

static void hands_that_do_not_start_are_an_error(void **state)
{
	struct hands *none = NULL;
	(void)state;
	fake_start = -EPERM;
	assert_int_equal(hands_new(&d, &none, &err), -EPERM);
	assert_string_equal(err.text, "no hands");
	assert_null(none);
	assert_int_equal(process.n_ends, 0);
	hands_free(NULL);
}

static void their_restarts_are_told(void **state)
{
	(void)state;
	assert_int_equal(hands_tick(h), WAKE_NEVER);
	assert_int_equal(fake_n_notices, 0);
	apart_restarted(started_with.arg);
	assert_int_equal(hands_tick(h), WAKE_NEVER);
	assert_int_equal(fake_n_notices, 1);
	assert_string_equal(fake_notice,
			    "the process that talks to BMCs had ended and was started again, "
			    "as process 4711");
}

/* ---- files ---- */

/* Most nodes of a cluster have the same ones. */
static void each_pair_of_files_is_looked_at_once(void **state)
{
	(void)state;
	add_node("/bmc/a", "");
	add_node("", "");
	add_node("/bmc/a", "");
	add_node("/bmc/a", "/bmc/s");
	add_node("", "/bmc/s");
	add_node("/bmc/b", "");
	add_node("", "/bmc/s");
	PHX_AUTO_FREE char *said = look();
	assert_asked("n1 n4 n5 n6 ");
	assert_string_equal(said, "");
}

static void what_the_hands_may_not_use_is_told(void **state)
{
	(void)state;
	add_node("/bmc/good", "");
	add_node("/bad/x", "");
	add_node("/bad/x", "");
	process.bad = "/bad";
	PHX_AUTO_FREE char *said = look();
	assert_string_equal(said, "phxd: the power of n2 cannot be switched: /bad/x is bad\n");
}

static void a_start_with_many_files_does_not_take_for_ever(void **state)
{
	char name[32];
	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "/bmc/%d", i);
		add_node(name, "");
	}
	PHX_AUTO_FREE char *good = look();
	assert_string_equal(good, "");
	assert_int_equal(process.n_ready, 256);
	process.n_ready = 0;
	process.bad = "/bmc/";
	PHX_AUTO_FREE char *bad = look();
	assert_int_equal(count_lines(bad), 20);
	assert_int_equal(process.n_ready, 20);
}

static void nodes_that_are_gone_are_not_looked_at(void **state)
{
	(void)state;
	add_node("/bmc/a", "");
	add_node("/bmc/b", "");
	PHX_LIST_AT(&s.nodes, struct phx_node, 0)->name[0] = '\0';
	PHX_AUTO_FREE char *said = look();
	assert_asked("n2 ");
	assert_string_equal(said, "");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(they_are_started_by_the_launcher_as_the_configuration_says),
		TEST(hands_that_do_not_start_are_an_error),
		TEST(their_restarts_are_told),
		TEST(each_pair_of_files_is_looked_at_once),
		TEST(what_the_hands_may_not_use_is_told),
		TEST(a_start_with_many_files_does_not_take_for_ever),
		TEST(nodes_that_are_gone_are_not_looked_at),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
