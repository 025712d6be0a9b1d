/* A change of the node's network with its files and a networkctl that notes its calls: what is
 * heard is kept, silence brings the former files back, and an agent that is killed at any point of
 * it leaves a record from which the next one goes on. */
#include "unit/agent/scratch.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "agent/site_net.h"

#define ETH "/etc/systemd/network/10-phoenix-eth0.network"
#define BOND "/etc/systemd/network/10-phoenix-bond0.netdev"

struct world {
	const struct scratch *s;
	bool answers; /* does the head? */
	bool dies;    /* is the agent killed when it asks? */
	int n_asked;
	char boot[16];
};

static bool heard(void *arg)
{
	struct world *w = arg;
	w->n_asked++;
	if (w->dies)
		raise(SIGKILL);
	return w->answers;
}

static struct site_net *open_net(struct world *w, int64_t silence_ms)
{
	struct phx_err err = {0};
	struct site_net *n;
	const struct site_net_config config = {.root = w->s->dir,
					       .state_dir = w->s->dir,
					       .boot = w->boot,
					       .heard = heard,
					       .arg = w,
					       .times = {silence_ms, 0}};
	if (site_net_new(&config, &n, &err) < 0)
		fail_msg("%s", err.text);
	return n;
}

/* A networkctl that does `more` and ends with `status`. */
static void fake_networkctl(const struct scratch *s, const char *more, int status)
{
	PHX_AUTO_FREE char *text = phx_path("#!/bin/sh\n# a fake: notes how it is called\necho "
					    "\"$@\" >>%s/calls\n%s\nexit %d\n",
					    s->dir, more, status);
	write_text(scratch_path(s, "bin/networkctl"), text, 0755);
}

static void begin(const struct scratch *s, struct world *w)
{
	*w = (struct world){.s = s, .boot = "boot-1"};
	assert_int_equal(phx_dir_make(scratch_path(s, "bin"), 0755, NULL), 0);
	assert_int_equal(phx_dir_make(scratch_path(s, "etc/systemd/network"), 0755, NULL), 0);
	write_text(scratch_path(s, "etc/systemd/network/10-phoenix-eth0.network"), "former\n",
		   0644);
	PHX_AUTO_FREE char *path = phx_path("%s/bin:/usr/bin:/bin", s->dir);
	setenv("PATH", path, 1);
	fake_networkctl(s, "", 0);
}

static void add(struct phx_site_bundle *b, const char *path, const char *text)
{
	struct phx_site_out *f = phx_list_push(&b->files, sizeof(*f));
	PHX_STR_SET(f->path, path);
	f->mode = 0644;
	f->uid = geteuid();
	f->gid = getegid();
	f->text = strdup(text);
}

/* A bond: its device is new, the card's file another. */
static int apply(struct site_net *n, uint32_t again, struct phx_err *err)
{
	struct phx_site_bundle b = {.id = 1, .again = again};
	struct phx_list before = {0};
	add(&b, "/etc/motd", "not of the network\n");
	add(&b, BOND, "bond\n");
	add(&b, ETH, "new\n");
	int r = site_net_apply(n, &b, &before, err);
	phx_record_fini(&phx_site_bundle_record, &b);
	return r;
}

/* NULL: there is none. */
static char *text_of(const struct scratch *s, const char *path)
{
	char *text = NULL;
	PHX_AUTO_FREE char *at = phx_path("%s%s", s->dir, path);
	phx_file_read(at, 4096, &text, NULL, NULL);
	return text;
}

static bool is(const struct scratch *s, const char *path, const char *text)
{
	PHX_AUTO_FREE char *has = text_of(s, path);
	return text ? has && !strcmp(has, text) : !has;
}

static void what_is_heard_is_kept(void **state)
{
	const struct scratch *s = *state;
	struct world w;
	struct phx_err err = {0};
	begin(s, &w);
	w.answers = true;
	struct site_net *n = open_net(&w, 5000);
	assert_int_equal(apply(n, 0, &err), 1);
	assert_true(is(s, ETH, "new\n") && is(s, BOND, "bond\n") && is(s, "/etc/motd", NULL));
	assert_true(is(s, "/calls", "reload\n"));
	assert_false(site_net_pending(n));
	assert_int_equal(apply(n, 0, &err), 0); /* it is so already */
	assert_true(is(s, "/calls", "reload\n"));
	assert_int_equal(w.n_asked, 1);
	site_net_free(n);
}

/* The device that came with it goes, and the same is not tried again until somebody says so. */
static void silence_brings_the_former_back(void **state)
{
	const struct scratch *s = *state;
	struct world w;
	struct phx_err err = {0};
	begin(s, &w);
	struct site_net *n = open_net(&w, 700);
	int64_t from = phx_clock_ms();
	assert_int_equal(apply(n, 0, &err), -EHOSTUNREACH);
	assert_true(phx_clock_ms() - from >= 700);
	assert_string_equal(err.text,
			    "network settings rolled back: the head was not reached for 0 s");
	assert_true(is(s, ETH, "former\n") && is(s, BOND, NULL));
	assert_true(is(s, "/calls", "reload\nreload\ndelete bond0\n"));
	w.answers = true;
	assert_int_equal(apply(n, 0, &err), -EPERM);
	assert_true(is(s, ETH, "former\n"));
	site_net_free(n);
	n = open_net(&w, 700); /* the next agent knows it, too */
	assert_int_equal(apply(n, 0, &err), -EPERM);
	assert_string_equal(err.text,
			    "network settings rolled back: the head was not reached for 0 s");
	assert_int_equal(apply(n, 1, &err), 1);
	assert_true(is(s, ETH, "new\n") && is(s, BOND, "bond\n"));
	site_net_free(n);
}

/* networkd does not take them: nobody waits for a head. */
static void what_does_not_load_comes_back_at_once(void **state)
{
	const struct scratch *s = *state;
	struct world w;
	struct phx_err err = {0};
	begin(s, &w);
	w.answers = true;
	fake_networkctl(s, "echo refused >&2", 1);
	struct site_net *n = open_net(&w, 60000);
	assert_int_equal(apply(n, 0, &err), -EHOSTUNREACH);
	assert_non_null(strstr(err.text, "network settings rolled back: networkctl"));
	assert_true(is(s, ETH, "former\n") && is(s, BOND, NULL));
	assert_int_equal(w.n_asked, 0);
	site_net_free(n);
}

/* In a process of its own, which is killed. */
static void apply_and_die(struct world *w, int64_t silence_ms)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		struct phx_err err = {0};
		apply(open_net(w, silence_ms), 0, &err);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void killed_agents_leave_a_record(void **state)
{
	static const char *const points[] = {
		"kill -9 $PPID", /* the files are there, nothing has read them */
		"",              /* everything is there, the head is being asked */
		/* on the way back: the former files are there */
		"[ \"$(wc -l <\"$(dirname \"$0\")/../calls\")\" -lt 2 ] || kill -9 $PPID",
	};
	const struct scratch *s = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(points); i++)
		for (int answers = 0; answers < 2; answers++) {
			struct world w;
			struct phx_err err = {0};
			begin(s, &w);
			unlink(scratch_path(s, "calls"));
			unlink(scratch_path(s, "site-network.json"));
			unlink(scratch_path(s, "etc/systemd/network/10-phoenix-bond0.netdev"));
			fake_networkctl(s, points[i], 0);
			w.dies = i == 1;
			apply_and_die(&w, i == 2 ? 100 : 60000);
			w.dies = false;
			w.answers = answers;
			fake_networkctl(s, "", 0);
			/* the machine has started, too: the time begins anew */
			PHX_STR_SET(w.boot, "boot-2");
			struct site_net *n = open_net(&w, 300);
			assert_true(site_net_pending(n));
			int r = site_net_resume(n, &err);
			assert_int_equal(r, answers ? 0 : -EHOSTUNREACH);
			bool back = !answers || i == 2;
			assert_true(is(s, ETH, back ? "former\n" : "new\n"));
			assert_true(is(s, BOND, back ? NULL : "bond\n"));
			assert_false(site_net_pending(n));
			site_net_free(n);
		}
}

/* The same start of the machine, and the time is up: not even a head that answers keeps it. */
static void a_late_agent_takes_it_back(void **state)
{
	const struct scratch *s = *state;
	struct world w;
	struct phx_err err = {0};
	begin(s, &w);
	w.dies = true;
	apply_and_die(&w, 50);
	w.dies = false;
	w.answers = true;
	assert_true(is(s, ETH, "new\n"));
	phx_sleep_ms(60);
	struct site_net *n = open_net(&w, 50);
	assert_int_equal(site_net_resume(n, &err), -EHOSTUNREACH);
	assert_true(is(s, ETH, "former\n") && is(s, BOND, NULL));
	site_net_free(n);
}

/* What it was stands in the record alone: another trial does not take the place of it. */
static void what_could_not_be_put_back_is_not_forgotten(void **state)
{
	const struct scratch *s = *state;
	struct world w;
	struct phx_err err = {0};
	begin(s, &w);
	/* a directory that anybody may write: nothing is put there */
	fake_networkctl(s, "chmod 777 \"$(dirname \"$0\")/../etc/systemd/network\"", 0);
	struct site_net *n = open_net(&w, 100);
	assert_int_equal(apply(n, 0, &err), -EPERM);
	assert_true(is(s, ETH, "new\n") && site_net_pending(n));
	fake_networkctl(s, "", 0);
	assert_int_equal(chmod(scratch_path(s, "etc/systemd/network"), 0755), 0);
	w.answers = true; /* too late */
	assert_int_equal(apply(n, 0, &err), -EHOSTUNREACH);
	assert_true(is(s, ETH, "former\n") && is(s, BOND, NULL) && !site_net_pending(n));
	site_net_free(n);
}

/* Nothing is known of a file that cannot be put back, so nothing is touched. */
static void a_link_in_its_place_is_refused(void **state)
{
	const struct scratch *s = *state;
	struct world w;
	struct phx_err err = {0};
	begin(s, &w);
	w.answers = true;
	assert_int_equal(symlink("/dev/null", scratch_path(s, BOND + 1)), 0);
	struct site_net *n = open_net(&w, 5000);
	assert_true(apply(n, 0, &err) < 0);
	assert_true(is(s, ETH, "former\n") && is(s, "/calls", NULL));
	site_net_free(n);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_heard_is_kept),
		TEST(silence_brings_the_former_back),
		TEST(what_does_not_load_comes_back_at_once),
		TEST(killed_agents_leave_a_record),
		TEST(a_late_agent_takes_it_back),
		TEST(what_could_not_be_put_back_is_not_forgotten),
		TEST(a_link_in_its_place_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
