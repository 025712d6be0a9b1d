/* Settings of the site on a node: accounts and files of a bundle come, change and go, beside the
 * members of the RE; nothing is put where others may write, and no content is kept elsewhere. */
#include "unit/agent/scratch.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/json.h"
#include "agent/account_places.h"
#include "agent/accounts.h"
#include "agent/site.h"
#include "agent/site_files.h"

#define PASSWD "root:x:0:0:root:/root:/bin/sh\nbuild:x:1000:1000::/home/build:/bin/sh\n"
#define ADA "ada:x:48501:48501::/home/ada:/bin/sh"
#define SECRET "a text that nobody else reads"

enum { ADA_ID = 48501, BOB_ID = 48502 };

struct world {
	const struct scratch *s;
	struct agent_config cfg;
	struct loop *loop;
	struct accounts *members;
	struct site *site;
};

static bool works(void *arg, uint32_t uid)
{
	(void)arg;
	(void)uid;
	return false;
}

static void begin(struct world *w)
{
	struct phx_err err = {0};
	const struct site_config config = {.loop = w->loop, .cfg = &w->cfg, .accounts = w->members};
	if (site_new(&config, &w->site, &err) < 0)
		fail_msg("%s", err.text);
}

static void node_init(const struct scratch *s, struct world *w)
{
	static const char *const dirs[] = {"etc", "home", "state", "scratch", "tmp"};
	*w = (struct world){.s = s, .loop = loop_started()};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		assert_int_equal(phx_dir_make(scratch_path(s, dirs[i]), 0755, NULL), 0);
	write_text(scratch_path(s, "etc/passwd"), PASSWD, 0644);
	write_text(scratch_path(s, "etc/group"), "root:x:0:\nbuild:x:1000:\n", 0644);
	PHX_STR_SET(w->cfg.root, s->dir);
	PHX_STR_SET(w->cfg.state_dir, scratch_path(s, "state"));
	PHX_STR_SET(w->cfg.scratch_dir, scratch_path(s, "scratch"));
	w->cfg.job_private = AGENT_PRIVATE_YES;
	assert_int_equal(accounts_new(w->loop, &w->cfg, works, w, &w->members, NULL), 0);
	begin(w);
}

static void node_fini(struct world *w)
{
	site_free(w->site);
	accounts_free(w->members);
	loop_free(w->loop);
}

/* ---- bundles ---- */

static void add_user(struct phx_accounts *l, const char *name, uint32_t uid)
{
	struct phx_account *a = phx_list_push(&l->list, sizeof(*a));
	PHX_STR_SET(a->name, name);
	a->uid = a->gid = uid;
	snprintf(a->home, sizeof(a->home), "/home/%s", name);
	PHX_STR_SET(a->shell, "/bin/sh");
	assert_int_equal(phx_account_group_add(&l->groups, name, uid), 0);
}

static struct phx_site_out *add_file(struct phx_site_bundle *b, const char *path, const char *text)
{
	struct phx_site_out *f = phx_list_push(&b->files, sizeof(*f));
	PHX_STR_SET(f->path, path);
	f->mode = 0600;
	f->uid = geteuid();
	f->gid = getegid();
	f->text = strdup(text);
	return f;
}

/* Has the node make this file whenever `f` has changed. */
static void touches(const struct world *w, struct phx_site_out *f)
{
	const char *const argv[] = {"touch", scratch_path(w->s, "touched")};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(argv); i++)
		PHX_STR_SET(
			((struct phx_word *)phx_list_push(&f->run, sizeof(struct phx_word)))->text,
			argv[i]);
}

static struct phx_site_bundle bundle(uint64_t id)
{
	struct phx_site_bundle b = {.id = id};
	PHX_STR_SET(b.accounts.re, PHX_SITE_ACCOUNTS);
	return b;
}

/* Of ada, and a file for her. */
static struct phx_site_bundle adas(uint64_t id)
{
	struct phx_site_bundle b = bundle(id);
	add_user(&b.accounts, "ada", ADA_ID);
	add_file(&b, "/etc/ssh/phoenix/ada", "her key\n");
	add_file(&b, "/etc/app/token", SECRET);
	return b;
}

static int apply_err(struct world *w, struct phx_site_bundle b, struct phx_err *err)
{
	int r = site_apply(w->site, &b, err);
	phx_record_fini(&phx_site_bundle_record, &b);
	return r;
}

static void apply(struct world *w, struct phx_site_bundle b)
{
	struct phx_err err = {0};
	if (apply_err(w, b, &err) < 0)
		fail_msg("%s", err.text);
}

static bool has_line(const struct world *w, const char *file, const char *line)
{
	PHX_AUTO_FREE char *text = read_text(scratch_path(w->s, file));
	char whole[256];
	snprintf(whole, sizeof(whole), "\n%s\n", line);
	return strstr(text, whole);
}

static void assert_told(const struct world *w, uint64_t id, const char *error)
{
	PHX_AUTO_JSON json_t *list = json_array(), *monitor = json_object();
	site_running(w->site, list);
	site_monitor(w->site, monitor);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(list, 0), 1)), id);
	const char *is = phx_json_str(monitor, "site_error", "");
	if (error ? !strstr(is, error) : *is)
		fail_msg("told: '%s'", is);
}

/* ---- the tests ---- */

static void accounts_and_files_come_and_go(void **state)
{
	struct world w;
	node_init(*state, &w);
	assert_told(&w, 0, NULL);
	apply(&w, adas(7));
	assert_told(&w, 7, NULL);
	assert_true(has_line(&w, "etc/passwd", ADA));
	assert_text(scratch_path(w.s, "etc/ssh/phoenix/ada"), "her key\n");
	assert_text(scratch_path(w.s, "etc/app/token"), SECRET);
	assert_true(exists(scratch_path(w.s, "home/ada")));
	apply(&w, bundle(8));
	assert_told(&w, 8, NULL);
	assert_text(scratch_path(w.s, "etc/passwd"), PASSWD);
	assert_false(exists(scratch_path(w.s, "etc/ssh/phoenix/ada")));
	assert_false(exists(scratch_path(w.s, "etc/app/token")));
	assert_true(exists(scratch_path(w.s, "home/ada"))); /* nobody's data goes by itself */
	node_fini(&w);
}

/* What the agent keeps is no second place of a secret. */
static void nothing_is_kept_of_a_text(void **state)
{
	struct world w;
	node_init(*state, &w);
	apply(&w, adas(7));
	PHX_AUTO_FREE char *kept = read_text(scratch_path(w.s, "state/site.json"));
	assert_non_null(strstr(kept, "/etc/app/token"));
	assert_null(strstr(kept, SECRET));
	node_fini(&w);
}

static pid_t process_of(uint32_t uid)
{
	pid_t pid = fork();
	if (pid == 0) {
		if (setgid(uid) < 0 || setuid(uid) < 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) /* setuid cleared it */
			_exit(1);
		for (;;)
			pause();
	}
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	WAIT_FOR(stat(path, &st) == 0 && st.st_uid == uid);
	return pid;
}

static bool is_killed(pid_t pid)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		info.si_pid == pid && info.si_code == CLD_KILLED;
}

/* An account that has the number of one of the image is refused, and then the site has it no
 * longer: what runs under that number is the image's. Who had an account before keeps it. */
static void who_never_came_takes_nobody_with_him(void **state)
{
	struct phx_err err = {0};
	struct world w;
	if (geteuid() != 0)
		skip();
	node_init(*state, &w);
	apply(&w, adas(7));
	pid_t images = process_of(1000), hers = process_of(ADA_ID);
	struct phx_site_bundle clashes = adas(8);
	add_user(&clashes.accounts, "bob", 1000);
	assert_true(apply_err(&w, clashes, &err) < 0);
	assert_non_null(strstr(err.text, "bob"));
	apply(&w, bundle(9));
	WAIT_FOR(is_killed(hers));
	assert_false(is_killed(images));
	kill(images, SIGKILL);
	node_fini(&w);
}

static bool processes_are_hidden(void)
{
	PHX_AUTO_FREE char *mounts = read_text("/proc/self/mounts");
	return strstr(mounts, "hidepid=invisible");
}

/* As those of members: test_accounts.c sees who sees what. */
static void who_logs_in_sees_no_processes_of_others(void **state)
{
	struct world w;
	node_init(*state, &w);
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		node_fini(&w);
		skip();
	}
	assert_int_equal(phx_dir_make(scratch_path(w.s, "proc"), 0755, NULL), 0);
	assert_int_equal(mount("proc", scratch_path(w.s, "proc"), "proc", 0, NULL), 0);
	bool before = processes_are_hidden();
	apply(&w, bundle(6));
	assert_int_equal(processes_are_hidden(), before);
	apply(&w, adas(7));
	assert_true(processes_are_hidden());
	node_fini(&w);
}

/* Of who is removed or locked, and of nobody else. */
static void who_leaves_loses_his_processes(void **state)
{
	struct world w;
	if (geteuid() != 0)
		skip();
	node_init(*state, &w);
	struct phx_site_bundle both = adas(7);
	add_user(&both.accounts, "bob", BOB_ID);
	apply(&w, both);
	pid_t his = process_of(BOB_ID), hers = process_of(ADA_ID);
	apply(&w, adas(8));
	WAIT_FOR(is_killed(his));
	assert_false(is_killed(hers));
	struct phx_site_bundle locked = adas(9);
	PHX_STR_SET(PHX_LIST_AT(&locked.accounts.list, struct phx_account, 0)->shell,
		    PHX_SITE_NOLOGIN);
	apply(&w, locked);
	WAIT_FOR(is_killed(hers));
	node_fini(&w);
}

/* The way to a home leads through a directory in which others may write: a link there leads to
 * nowhere, neither when a home is made nor when one goes. */
static void no_link_of_others_leads_to_a_home(void **state)
{
	struct world w;
	struct phx_site_bundle b = bundle(7);
	struct phx_err err = {0};
	node_init(*state, &w);
	assert_int_equal(phx_dir_make(scratch_path(w.s, "home/open"), 0755, NULL), 0);
	assert_int_equal(symlink("../../etc", scratch_path(w.s, "home/open/link")), 0);
	assert_int_equal(chmod(scratch_path(w.s, "home/open"), 0777), 0);
	assert_int_equal(phx_dir_make(scratch_path(w.s, "etc/bob"), 0755, NULL), 0);
	add_user(&b.accounts, "ada", ADA_ID);
	PHX_STR_SET(PHX_LIST_AT(&b.accounts.list, struct phx_account, 0)->home,
		    "/home/open/link/ada");
	apply(&w, b);
	assert_false(exists(scratch_path(w.s, "etc/ada")));
	assert_int_equal(account_home_remove(w.s->dir, "/home/open/link/bob", &err), -EPERM);
	assert_true(exists(scratch_path(w.s, "etc/bob")));
	node_fini(&w);
}

static void programs_run_when_their_file_changes(void **state)
{
	static const struct {
		const char *text; /* NULL: the file is gone */
		bool runs;
	} steps[] = {{"one", true}, {"one", false}, {"two", true}, {NULL, true}, {NULL, false}};
	struct world w;
	node_init(*state, &w);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(steps); i++) {
		struct phx_site_bundle b = bundle(i + 1);
		if (steps[i].text)
			touches(&w, add_file(&b, "/etc/a", steps[i].text));
		apply(&w, b);
		if (exists(scratch_path(w.s, "touched")) != steps[i].runs)
			fail_msg("step %zu: it runs, or does not", i);
		unlink(scratch_path(w.s, "touched"));
	}
	node_fini(&w);
}

/* An agent that was killed in between: its files may be there, and its programs did not run. */
static void what_was_begun_is_done(void **state)
{
	struct world w;
	node_init(*state, &w);
	struct phx_site_bundle b = bundle(5);
	touches(&w, add_file(&b, "/etc/a", "one"));
	add_file(&b, "/etc/b", "one");
	apply(&w, b);
	unlink(scratch_path(w.s, "touched"));
	PHX_AUTO_FREE char *kept = read_text(scratch_path(w.s, "state/site.json"));
	char *id = strstr(kept, "\"id\":5");
	assert_non_null(id);
	id[strlen("\"id\":")] = '0';
	write_text(scratch_path(w.s, "state/site.json"), kept, 0600);
	site_free(w.site);
	begin(&w);
	assert_told(&w, 0, NULL);
	b = bundle(6);
	touches(&w, add_file(&b, "/etc/a", "one"));
	apply(&w, b);
	assert_true(exists(scratch_path(w.s, "touched")));
	assert_false(exists(scratch_path(w.s, "etc/b")));
	node_fini(&w);
}

/* A power cut, or a bad disk: the agent goes on, and gets the settings anew. */
static void damaged_files_are_set_aside(void **state)
{
	struct world w;
	node_init(*state, &w);
	struct phx_site_bundle b = bundle(5);
	add_file(&b, "/etc/a", "one");
	apply(&w, b);
	site_free(w.site);
	write_text(scratch_path(w.s, "state/site.json"), "{\"id\":5,\"fil", 0600);
	write_text(scratch_path(w.s, "state/site-network.json"), "", 0600);
	begin(&w);
	assert_told(&w, 0, NULL);
	assert_true(exists(scratch_path(w.s, "state/site.json.damaged")));
	assert_true(exists(scratch_path(w.s, "state/site-network.json.damaged")));
	b = bundle(5);
	add_file(&b, "/etc/a", "one");
	apply(&w, b);
	assert_told(&w, 5, NULL);
	node_fini(&w);
}

/* What fails is told, and does not hold up the rest. */
static void a_program_that_fails_is_told(void **state)
{
	struct world w;
	struct phx_err err = {0};
	node_init(*state, &w);
	struct phx_site_bundle b = bundle(5);
	struct phx_site_out *f = add_file(&b, "/etc/a", "one");
	PHX_STR_SET(((struct phx_word *)phx_list_push(&f->run, sizeof(struct phx_word)))->text,
		    "false");
	add_file(&b, "/etc/b", "one");
	assert_int_equal(apply_err(&w, b, &err), -EIO);
	assert_told(&w, 5, "false ended with status 1");
	assert_text(scratch_path(w.s, "etc/b"), "one");
	node_fini(&w);
}

static void a_clash_changes_no_account(void **state)
{
	struct world w;
	struct phx_err err = {0};
	node_init(*state, &w);
	struct phx_site_bundle b = bundle(5);
	add_user(&b.accounts, "ada", 1000);
	add_file(&b, "/etc/b", "one");
	assert_int_equal(apply_err(&w, b, &err), -EEXIST);
	assert_told(&w, 5, "account ada (uid 1000) of the site clashes with build (uid 1000)");
	assert_text(scratch_path(w.s, "etc/passwd"), PASSWD);
	assert_text(scratch_path(w.s, "etc/b"), "one");
	apply(&w, adas(6));
	assert_told(&w, 6, NULL);
	node_fini(&w);
}

/* A user of the site who is a member too has one account, as long as he is one of both. */
static void a_member_of_the_site_has_one_account(void **state)
{
	struct world w;
	struct phx_accounts l = {0};
	node_init(*state, &w);
	PHX_STR_SET(l.re, "hpc");
	add_user(&l, "ada", ADA_ID);
	assert_int_equal(accounts_want(w.members, phx_accounts_id(&l), &l, NULL), 0);
	apply(&w, adas(7));
	PHX_AUTO_FREE char *text = read_text(scratch_path(w.s, "etc/passwd"));
	const char *first = strstr(text, "\nada:");
	assert_non_null(first);
	assert_null(strstr(first + 1, "\nada:"));
	apply(&w, bundle(8));
	assert_true(has_line(&w, "etc/passwd", ADA)); /* as a member */
	apply(&w, adas(9));
	assert_int_equal(accounts_leave(w.members, "", NULL), 0);
	assert_true(has_line(&w, "etc/passwd", ADA)); /* of the site */
	apply(&w, bundle(10));
	assert_text(scratch_path(w.s, "etc/passwd"), PASSWD);
	phx_record_fini(&phx_accounts_record, &l);
	node_fini(&w);
}

/* Neither into a place of others, nor through a link of theirs, nor over what a link leads to. */
static void nothing_goes_where_others_may_write(void **state)
{
	struct world w;
	struct phx_err err = {0};
	node_init(*state, &w);
	struct phx_site_out f = {.mode = 0600, .uid = geteuid(), .gid = getegid()};
	assert_int_equal(chmod(scratch_path(w.s, "tmp"), 01777), 0);
	PHX_STR_SET(f.path, "/tmp/a");
	assert_int_equal(site_file_write(w.s->dir, &f, &err), -EPERM);
	PHX_STR_SET(f.path, "/etc/../tmp/a");
	assert_int_equal(site_file_write(w.s->dir, &f, &err), -EINVAL);
	write_text(scratch_path(w.s, "etc/precious"), "precious", 0600);
	assert_int_equal(symlink("precious", scratch_path(w.s, "etc/link")), 0);
	PHX_STR_SET(f.path, "/etc/link");
	assert_int_equal(site_file_write(w.s->dir, &f, &err), 1);
	assert_text(scratch_path(w.s, "etc/precious"), "precious");
	assert_text(scratch_path(w.s, "etc/link"), "");
	assert_int_equal(site_file_write(w.s->dir, &f, &err), 0);
	assert_int_equal(site_file_remove(w.s->dir, "/etc/link", &err), 1);
	assert_int_equal(site_file_remove(w.s->dir, "/etc/link", &err), 0);
	assert_int_equal(site_file_remove(w.s->dir, "/no/such/place", &err), 0);
	node_fini(&w);
}

/* A key is told, and nothing else that stands in its file. */
static void host_keys_are_told(void **state)
{
#define HOST_KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPTqSxsfFCUgR0C8hQb5L0iJMDbwXn8SxGz9Kj2mN7w4"
	struct world w;
	node_init(*state, &w);
	assert_int_equal(phx_dir_make(scratch_path(w.s, "etc/ssh"), 0755, NULL), 0);
	for (int right = 0; right < 2; right++) {
		PHX_AUTO_JSON json_t *monitor = json_object();
		write_text(scratch_path(w.s, "etc/ssh/ssh_host_ed25519_key.pub"),
			   right ? HOST_KEY "\n" : "* " HOST_KEY "\n", 0644);
		site_monitor(w.site, monitor);
		const json_t *keys = json_object_get(monitor, "host_keys");
		assert_int_equal(json_array_size(keys), right);
	}
	node_fini(&w);
}

/* Whoever was root before has no key of this node any more, and sshd makes one. */
static void a_host_key_is_forgotten_with_its_owner(void **state)
{
	const struct scratch *s = *state;
	PHX_AUTO_FREE char *path = strdup(getenv("PATH"));
	char fake[300], text[400];
	snprintf(fake, sizeof(fake), "%s:%s", s->dir, path);
	snprintf(text, sizeof(text), "#!/bin/sh\necho \"$@\" >>%s/called\n", s->dir);
	write_text(scratch_path(s, "systemctl"), text, 0755);
	setenv("PATH", fake, 1);
	site_host_key_forget(s->dir); /* there is none */
	assert_false(exists(scratch_path(s, "called")));
	assert_int_equal(phx_dir_make(scratch_path(s, "etc/ssh"), 0755, NULL), 0);
	write_text(scratch_path(s, "etc/ssh/ssh_host_ed25519_key"), "key", 0600);
	write_text(scratch_path(s, "etc/ssh/ssh_host_ed25519_key.pub"), "key", 0644);
	site_host_key_forget(s->dir);
	setenv("PATH", path, 1);
	assert_false(exists(scratch_path(s, "etc/ssh/ssh_host_ed25519_key")));
	assert_false(exists(scratch_path(s, "etc/ssh/ssh_host_ed25519_key.pub")));
	assert_text(scratch_path(s, "called"), "try-restart ssh.service\n");
}

static int without_processes(void **state)
{
	umount2(scratch_path(*state, "proc"), MNT_DETACH);
	return scratch_teardown(state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(accounts_and_files_come_and_go),
		TEST(nothing_is_kept_of_a_text),
		TEST(who_leaves_loses_his_processes),
		cmocka_unit_test_setup_teardown(who_logs_in_sees_no_processes_of_others,
						scratch_setup, without_processes),
		TEST(who_never_came_takes_nobody_with_him),
		TEST(no_link_of_others_leads_to_a_home),
		TEST(programs_run_when_their_file_changes),
		TEST(what_was_begun_is_done),
		TEST(damaged_files_are_set_aside),
		TEST(a_program_that_fails_is_told),
		TEST(a_clash_changes_no_account),
		TEST(a_member_of_the_site_has_one_account),
		TEST(nothing_goes_where_others_may_write),
		TEST(host_keys_are_told),
		TEST(a_host_key_is_forgotten_with_its_owner),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
