/* Accounts of members on a node: made and taken by one list, whatever the node has of its own. */
#include "unit/agent/scratch.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "agent/account_files.h"
#include "agent/account_places.h"
#include "agent/accounts.h"

#define PASSWD "root:x:0:0:root:/root:/bin/sh\nbuild:x:1000:1000::/home/build:/bin/sh\n"
#define GROUP "root:x:0:\nusers:x:100:\nbuild:x:1000:\n"
#define SHADOW "root:*:19000:0:99999:7:::\n"

enum { ALICE = 48201, BOB = 48202 };

struct world {
	const struct scratch *s;
	struct agent_config cfg;
	struct loop *loop;
	struct accounts *a;
	uint32_t works; /* whose runs are here */
};

static bool works(void *arg, uint32_t uid)
{
	const struct world *w = arg;
	return w->works == uid;
}

static void begin(struct world *w)
{
	struct phx_err err = {0};
	if (accounts_new(w->loop, &w->cfg, works, w, &w->a, &err) < 0)
		fail_msg("%s", err.text);
}

static void node_init(const struct scratch *s, struct world *w)
{
	static const char *const dirs[] = {"etc", "home", "state", "scratch", "tmp"};
	*w = (struct world){.s = s, .loop = loop_started()};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		assert_int_equal(phx_dir_make(scratch_path(s, dirs[i]), 0755, NULL), 0);
	write_text(scratch_path(s, "etc/passwd"), PASSWD, 0644);
	write_text(scratch_path(s, "etc/group"), GROUP, 0644);
	write_text(scratch_path(s, "etc/shadow"), SHADOW, 0640);
	PHX_STR_SET(w->cfg.root, s->dir);
	PHX_STR_SET(w->cfg.state_dir, scratch_path(s, "state"));
	PHX_STR_SET(w->cfg.scratch_dir, scratch_path(s, "scratch"));
	w->cfg.job_private = AGENT_PRIVATE_YES;
	begin(w);
}

static void node_fini(struct world *w)
{
	accounts_free(w->a);
	loop_free(w->loop);
}

/* The agent starts again. */
static void again(struct world *w)
{
	accounts_free(w->a);
	begin(w);
}

static void add(struct phx_accounts *l, const char *name, uint32_t uid)
{
	struct phx_account *a = phx_list_push(&l->list, sizeof(*a));
	PHX_STR_SET(a->name, name);
	a->uid = a->gid = uid;
	snprintf(a->home, sizeof(a->home), "/home/%s", name);
	PHX_STR_SET(a->shell, "/bin/sh");
	assert_int_equal(phx_account_group_add(&a->groups, "lab", 48300), 0);
	assert_int_equal(phx_account_group_add(&l->groups, name, uid), 0);
	assert_int_equal(phx_account_group_add(&l->groups, "lab", 48300), 0);
}

/* Members of `re`: alice, and bob. */
static struct phx_accounts members(const char *re, bool with_alice, bool with_bob)
{
	struct phx_accounts l = {0};
	PHX_STR_SET(l.re, re);
	if (with_alice)
		add(&l, "alice", ALICE);
	if (with_bob)
		add(&l, "bob", BOB);
	return l;
}

static int want_err(struct world *w, struct phx_accounts l, struct phx_err *err)
{
	int r = accounts_want(w->a, phx_accounts_id(&l), &l, err);
	phx_record_fini(&phx_accounts_record, &l);
	return r;
}

static void want(struct world *w, struct phx_accounts l)
{
	struct phx_err err = {0};
	if (want_err(w, l, &err) < 0)
		fail_msg("%s", err.text);
}

static void has_line(struct world *w, const char *file, const char *line, bool wanted)
{
	char *text = read_text(scratch_path(w->s, file));
	char whole[256];
	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (!strstr(text, whole) == wanted)
		fail_msg("%s, wanted %d %s in:\n%s", file, wanted, line, text);
	free(text);
}

static void is_as_before(struct world *w)
{
	static const char *const was[][2] = {
		{"etc/passwd", PASSWD}, {"etc/group", GROUP}, {"etc/shadow", SHADOW}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(was); i++) {
		char *text = read_text(scratch_path(w->s, was[i][0]));
		assert_string_equal(text, was[i][1]);
		free(text);
	}
}

static bool there(struct world *w, const char *name)
{
	return exists(scratch_path(w->s, name));
}

static uint64_t told(struct world *w)
{
	json_t *list = json_array();
	accounts_running(w->a, list);
	uint64_t id = (uint64_t)json_integer_value(json_array_get(json_array_get(list, 0), 1));
	json_decref(list);
	return id;
}

static void test_come_and_go(void **state)
{
	struct world w;
	struct stat st;
	node_init(*state, &w);
	assert_int_equal(told(&w), 0);
	want(&w, members("hpc", true, true));
	has_line(&w, "etc/passwd", "alice:x:48201:48201::/home/alice:/bin/sh", true);
	has_line(&w, "etc/group", "lab:x:48300:alice,bob", true);
	has_line(&w, "etc/shadow", "bob:*:::::::", true);
	assert_int_equal(stat(scratch_path(w.s, "etc/shadow"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(stat(scratch_path(w.s, "scratch/hpc/alice"), &st), 0);
	assert_true(st.st_uid == ALICE && (st.st_mode & 07777) == 0700);
	assert_int_equal(stat(scratch_path(w.s, "scratch/hpc"), &st), 0);
	assert_true(st.st_uid == 0 && (st.st_mode & 07777) == 0711);
	assert_int_equal(stat(scratch_path(w.s, "home/bob"), &st), 0);
	assert_true(st.st_uid == BOB && (st.st_mode & 07777) == 0700);
	struct phx_accounts l = members("hpc", true, true);
	assert_true(told(&w) == phx_accounts_id(&l));
	phx_record_fini(&phx_accounts_record, &l);
	write_text(scratch_path(w.s, "home/build"), "not ours", 0644);
	/* one goes */
	want(&w, members("hpc", true, false));
	has_line(&w, "etc/passwd", "bob:x:48202:48202::/home/bob:/bin/sh", false);
	has_line(&w, "etc/group", "lab:x:48300:alice", true);
	assert_false(there(&w, "home/bob"));
	assert_false(there(&w, "scratch/hpc/bob"));
	assert_true(there(&w, "scratch/hpc/alice"));
	/* all go, of an agent that was started again, too */
	again(&w);
	assert_int_equal(accounts_leave(w.a, "hpc", NULL), 0);
	assert_true(there(&w, "scratch/hpc/alice")); /* it stays in its RE */
	assert_int_equal(accounts_leave(w.a, "", NULL), 0);
	is_as_before(&w);
	assert_false(there(&w, "home/alice"));
	assert_false(there(&w, "scratch/hpc"));
	assert_true(there(&w, "home/build"));
	assert_int_equal(told(&w), 0);
	node_fini(&w);
}

static void test_other_re(void **state)
{
	struct world w;
	node_init(*state, &w);
	want(&w, members("hpc", true, true));
	write_text(scratch_path(w.s, "scratch/hpc/alice/secret"), "x", 0600);
	want(&w, members("web", true, false));
	assert_false(there(&w, "scratch/hpc"));
	assert_true(there(&w, "scratch/web/alice"));
	assert_false(there(&w, "scratch/web/alice/secret"));
	has_line(&w, "etc/passwd", "bob:x:48202:48202::/home/bob:/bin/sh", false);
	node_fini(&w);
}

/* ---- what the image has ---- */

static void refuse(struct world *w, struct phx_accounts l, int result, const char *says)
{
	struct phx_err err = {0};
	char note[ACCOUNTS_NOTE_MAX];
	int r = want_err(w, l, &err);
	if (r != result || !strstr(err.text, says))
		fail_msg("%d %s", r, err.text);
	is_as_before(w);
	assert_false(there(w, "home/alice"));
	assert_false(there(w, "scratch/hpc"));
	accounts_note(w->a, note);
	assert_non_null(strstr(note, "accounts: "));
}

static void test_clashes(void **state)
{
	struct world w;
	struct phx_accounts l;
	node_init(*state, &w);
	l = members("hpc", true, false);
	add(&l, "build", 48250);
	refuse(&w, l, -EEXIST,
	       "account build (uid 48250) of RE hpc clashes with build (uid 1000) of this node: "
	       "/etc/passwd:2");
	l = members("hpc", true, false);
	add(&l, "carol", 1000);
	refuse(&w, l, -EEXIST, "account carol (uid 1000) of RE hpc clashes with build (uid 1000)");
	l = members("hpc", true, false);
	assert_int_equal(phx_account_group_add(&l.groups, "users", 48333), 0);
	refuse(&w, l, -EEXIST,
	       "group users (gid 48333) of RE hpc clashes with users (gid 100) of this node: "
	       "/etc/group:2");
	/* told as taken, so that the head does not repeat it without end; nothing of it is here */
	assert_true(told(&w) > PHX_ACCOUNTS_UNKNOWN);
	want(&w, members("hpc", true, false));
	has_line(&w, "etc/passwd", "alice:x:48201:48201::/home/alice:/bin/sh", true);
	char note[ACCOUNTS_NOTE_MAX];
	accounts_note(w.a, note);
	assert_string_equal(note, "");
	node_fini(&w);
}

/* A machine without it has none afterwards, and hears of what is wrong, and not of that. */
static void test_no_shadow(void **state)
{
	struct world w;
	struct phx_err err = {0};
	node_init(*state, &w);
	assert_int_equal(unlink(scratch_path(w.s, "etc/shadow")), 0);
	struct phx_accounts l = members("hpc", true, false);
	add(&l, "carol", 1000);
	assert_int_equal(want_err(&w, l, &err), -EEXIST);
	assert_non_null(strstr(err.text, "clashes"));
	want(&w, members("hpc", true, false));
	assert_false(there(&w, "etc/shadow"));
	assert_true(there(&w, "home/alice"));
	node_fini(&w);
}

static void test_system_numbers(void **state)
{
	static const uint32_t bad[] = {0, 33, 999, 65534};
	struct world w;
	node_init(*state, &w);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_accounts l = members("hpc", true, false);
		PHX_LIST_AT(&l.list, struct phx_account, 0)->uid = bad[i];
		refuse(&w, l, -EPERM, "is the system's");
	}
	node_fini(&w);
}

/* The same account is the image's own: it stays when the member goes, and so does his home. */
static void test_image_has_it(void **state)
{
	struct world w;
	struct phx_accounts l = {.re = "hpc"};
	node_init(*state, &w);
	assert_int_equal(phx_dir_make(scratch_path(w.s, "home/build"), 0755, NULL), 0);
	add(&l, "build", 1000);
	l.groups.n = 1; /* his own, which the image has, too */
	want(&w, l);
	is_as_before(&w);
	assert_true(there(&w, "scratch/hpc/build"));
	w.cfg.job_private = AGENT_PRIVATE_NO; /* 1000 may be somebody's on this machine */
	assert_int_equal(accounts_leave(w.a, "", NULL), 0);
	is_as_before(&w);
	assert_true(there(&w, "home/build"));
	assert_false(there(&w, "scratch/hpc"));
	node_fini(&w);
}

static void test_block_without_end(void **state)
{
	struct world w;
	struct phx_err err = {0};
	node_init(*state, &w);
	want(&w, members("hpc", true, false));
	char *text = read_text(scratch_path(w.s, "etc/passwd"));
	*strstr(text, "# phoenix: end") = '\0';
	write_text(scratch_path(w.s, "etc/passwd"), text, 0644);
	free(text);
	assert_int_equal(want_err(&w, members("hpc", true, true), &err), -EINVAL);
	assert_non_null(strstr(err.text, "/etc/passwd:3: a block begins here and has no end"));
	node_fini(&w);
}

/* What an administrator adds behind the block stays. */
static void test_behind_the_block(void **state)
{
	struct world w;
	node_init(*state, &w);
	want(&w, members("hpc", true, false));
	char *text = read_text(scratch_path(w.s, "etc/passwd"));
	PHX_AUTO_FREE char *more = phx_path("%slocal:x:999:999::/:/bin/sh\n+::::::\n", text);
	write_text(scratch_path(w.s, "etc/passwd"), more, 0644);
	free(text);
	assert_int_equal(accounts_leave(w.a, "", NULL), 0);
	text = read_text(scratch_path(w.s, "etc/passwd"));
	assert_string_equal(text, PASSWD "local:x:999:999::/:/bin/sh\n+::::::\n");
	free(text);
	node_fini(&w);
}

static void test_somebody_else_changes(void **state)
{
	struct world w;
	struct phx_err err = {0};
	node_init(*state, &w);
	int lock = account_files_lock(w.s->dir, NULL);
	assert_true(lock >= 0);
	assert_int_equal(want_err(&w, members("hpc", true, false), &err), -EAGAIN);
	is_as_before(&w);
	close(lock);
	/* it is tried again without the head */
	WAIT_FOR((accounts_settle(w.a), there(&w, "scratch/hpc/alice")));
	node_fini(&w);
}

/* ---- who is struck out ---- */

static pid_t sleeper_of(uid_t uid)
{
	int gate[2];
	char c;
	assert_int_equal(pipe(gate), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setresuid(uid, uid, uid) < 0)
			_exit(1);
		(void)!write(gate[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(gate[0], &c, 1), 1);
	close(gate[0]);
	close(gate[1]);
	return pid;
}

static void test_who_works_stays(void **state)
{
	struct world w;
	node_init(*state, &w);
	want(&w, members("hpc", true, true));
	write_text(scratch_path(w.s, "tmp/his"), "x", 0600);
	assert_int_equal(chown(scratch_path(w.s, "tmp/his"), BOB, BOB), 0);
	pid_t his = sleeper_of(BOB);
	w.works = BOB;
	want(&w, members("hpc", true, false));
	has_line(&w, "etc/passwd", "bob:x:48202:48202::/home/bob:/bin/sh", true);
	has_line(&w, "etc/group", "bob:x:48202:", true);
	assert_int_equal(waitpid(his, NULL, WNOHANG), 0);
	assert_true(there(&w, "scratch/hpc/bob"));
	again(&w); /* knows it still */
	w.works = 0;
	WAIT_FOR((accounts_settle(w.a), !there(&w, "scratch/hpc/bob")));
	has_line(&w, "etc/passwd", "bob:x:48202:48202::/home/bob:/bin/sh", false);
	assert_false(there(&w, "tmp/his"));
	int status;
	assert_int_equal(waitpid(his, &status, 0), his);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	node_fini(&w);
}

/* ---- what members do to it ---- */

/* Links, depth, a directory in the place of another's. */
static void test_hostile_scratch(void **state)
{
	struct world w;
	char deep[200] = "scratch/hpc/alice";
	node_init(*state, &w);
	want(&w, members("hpc", true, true));
	write_text(scratch_path(w.s, "home/kept"), "x", 0644);
	assert_int_equal(symlink("../../../home", scratch_path(w.s, "scratch/hpc/alice/out")), 0);
	for (int i = 0; i < 20; i++) {
		strcat(deep, "/d");
		assert_int_equal(mkdir(scratch_path(w.s, deep), 0), 0);
	}
	/* his home is a link to what is not his */
	assert_int_equal(rmdir(scratch_path(w.s, "home/bob")), 0);
	assert_int_equal(symlink("../etc", scratch_path(w.s, "home/bob")), 0);
	assert_int_equal(accounts_leave(w.a, "", NULL), 0);
	assert_false(there(&w, "scratch/hpc"));
	assert_false(there(&w, "home/bob"));
	assert_true(there(&w, "home/kept"));
	is_as_before(&w);
	node_fini(&w);
}

/* Where everybody may write nobody has anything of his own. */
static void test_open_scratch(void **state)
{
	struct world w;
	char note[ACCOUNTS_NOTE_MAX];
	node_init(*state, &w);
	assert_int_equal(chmod(w.cfg.scratch_dir, 01777), 0);
	want(&w, members("hpc", true, false));
	accounts_note(w.a, note);
	assert_non_null(strstr(note, "others may write there"));
	assert_false(there(&w, "scratch/hpc"));
	has_line(&w, "etc/passwd", "alice:x:48201:48201::/home/alice:/bin/sh", true);
	assert_int_equal(accounts_leave(w.a, "", NULL), 0);
	node_fini(&w);
}

/* ---- a record that is damaged ---- */

static void damage(struct world *w, const char *text)
{
	char note[ACCOUNTS_NOTE_MAX];
	accounts_free(w->a);
	write_text(scratch_path(w->s, "state/accounts.json"), text, 0600);
	begin(w);
	assert_false(exists(scratch_path(w->s, "state/accounts.json")) &&
		     !exists(scratch_path(w->s, "state/accounts.json.damaged")));
	char *kept = read_text(scratch_path(w->s, "state/accounts.json.damaged"));
	assert_string_equal(kept, text);
	free(kept);
	accounts_note(w->a, note);
	assert_non_null(strstr(note, "accounts: their record was damaged"));
	assert_true(told(w) == PHX_ACCOUNTS_UNKNOWN); /* so that the head gives its list anew */
}

static void is_whole(struct world *w)
{
	has_line(w, "etc/passwd", "alice:x:48201:48201::/home/alice:/bin/sh", true);
	has_line(w, "etc/passwd", "bob:x:48202:48202::/home/bob:/bin/sh", true);
	has_line(w, "etc/group", "lab:x:48300:alice,bob", true);
	has_line(w, "etc/group", "bob:x:48202:bob", false);
	has_line(w, "etc/shadow", "bob:*:::::::", true);
	assert_true(there(w, "home/bob"));
	assert_true(there(w, "scratch/hpc/bob"));
	assert_true(accounts_has(w->a, BOB));
}

static void test_a_damaged_record_harms_nobody(void **state)
{
	static const char *const damaged[] = {"", "{\"id\":5,\"wan", "[]", "{\"made\":7}"};
	struct world w;
	node_init(*state, &w);
	want(&w, members("hpc", true, true));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(damaged); i++) {
		damage(&w, damaged[i]);
		is_whole(&w);
		want(&w, members("hpc", true, true));
		is_whole(&w);
	}
	/* who is struck out and works stays, and goes when he has ended; his home stays then */
	damage(&w, "{");
	w.works = BOB;
	want(&w, members("hpc", true, false));
	is_whole(&w);
	again(&w);
	w.works = 0;
	WAIT_FOR((accounts_settle(w.a), !there(&w, "scratch/hpc/bob")));
	has_line(&w, "etc/passwd", "bob:x:48202:48202::/home/bob:/bin/sh", false);
	assert_true(there(&w, "home/bob"));
	node_fini(&w);
}

/* What is left of them goes with the RE as ever, though a start lay between. */
static void test_the_node_leaves_after_damage(void **state)
{
	struct world w;
	node_init(*state, &w);
	want(&w, members("hpc", true, true));
	damage(&w, "{");
	again(&w);
	is_whole(&w);
	assert_int_equal(accounts_leave(w.a, "hpc", NULL), 0);
	is_whole(&w);
	assert_int_equal(accounts_leave(w.a, "web", NULL), 0);
	is_as_before(&w);
	assert_false(there(&w, "scratch/hpc"));
	assert_true(there(&w, "home/bob"));
	node_fini(&w);
}

/* Two REs have a directory of his: neither is removed, for it is not known whose he is. */
static void test_of_two_res_neither_is_taken(void **state)
{
	struct world w;
	node_init(*state, &w);
	want(&w, members("hpc", false, true));
	assert_int_equal(phx_dir_make(scratch_path(w.s, "scratch/old/bob"), 0755, NULL), 0);
	assert_int_equal(chown(scratch_path(w.s, "scratch/old/bob"), BOB, BOB), 0);
	damage(&w, "{");
	assert_int_equal(accounts_leave(w.a, "", NULL), 0);
	is_as_before(&w);
	assert_true(there(&w, "scratch/hpc/bob"));
	assert_true(there(&w, "scratch/old/bob"));
	assert_int_equal(told(&w), 0);
	/* of the list that comes next the RE is known */
	want(&w, members("hpc", true, true));
	damage(&w, "{");
	want(&w, members("hpc", true, false));
	assert_false(there(&w, "scratch/hpc/bob"));
	assert_true(there(&w, "scratch/old/bob"));
	node_fini(&w);
}

/* Which there are is not known: nothing is changed, and it is told. */
static void test_damage_in_all_files(void **state)
{
	struct world w;
	struct phx_err err = {0};
	node_init(*state, &w);
	want(&w, members("hpc", true, false));
	char *text = read_text(scratch_path(w.s, "etc/passwd"));
	*strstr(text, "# phoenix: end") = '\0';
	write_text(scratch_path(w.s, "etc/passwd"), text, 0644);
	damage(&w, "{");
	assert_int_equal(want_err(&w, members("hpc", true, true), &err), -EINVAL);
	assert_true(there(&w, "scratch/hpc/alice"));
	PHX_AUTO_FREE char *now = read_text(scratch_path(w.s, "etc/passwd"));
	assert_string_equal(now, text);
	free(text);
	node_fini(&w);
}

/* ---- processes ---- */

enum { HIDDEN = MS_NOSUID | MS_NODEV | MS_NOEXEC };

/* A /proc of the node's own, as a machine has one. False: no mounts here. */
static bool give_processes(struct world *w)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	assert_int_equal(phx_dir_make(scratch_path(w->s, "proc"), 0755, NULL), 0);
	assert_int_equal(mount("proc", scratch_path(w->s, "proc"), "proc", HIDDEN, NULL), 0);
	return true;
}

static void set_processes(struct world *w, const char *options)
{
	assert_int_equal(
		mount(NULL, scratch_path(w->s, "proc"), NULL, MS_REMOUNT | HIDDEN, options), 0);
}

/* Does `uid` see that process, and itself? */
static bool sees(struct world *w, uid_t uid, pid_t pid)
{
	char other[300], self[300];
	int status;
	snprintf(other, sizeof(other), "%s/%d/stat", scratch_path(w->s, "proc"), (int)pid);
	snprintf(self, sizeof(self), "%s/self/stat", scratch_path(w->s, "proc"));
	assert_int_equal(chmod(w->s->dir, 0755), 0);
	pid_t child = fork();
	if (child == 0) {
		if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
		    setresuid(uid, uid, uid) < 0 || access(self, R_OK) < 0)
			_exit(2);
		_exit(access(other, F_OK) < 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 0;
}

static void test_nobody_sees_processes_of_others(void **state)
{
	struct world w;
	struct statvfs is;
	node_init(*state, &w);
	if (!give_processes(&w)) {
		node_fini(&w);
		skip();
	}
	/* while nobody has an account, or it is not wanted, all is as the image has it */
	again(&w);
	w.cfg.job_private = AGENT_PRIVATE_NO;
	want(&w, members("hpc", true, false));
	assert_true(sees(&w, ALICE, getpid()));
	w.cfg.job_private = AGENT_PRIVATE_YES;
	want(&w, members("hpc", true, true));
	assert_false(sees(&w, ALICE, getpid()));
	assert_true(sees(&w, 0, getpid()));
	assert_int_equal(statvfs(scratch_path(w.s, "proc"), &is), 0);
	assert_int_equal(is.f_flag & HIDDEN, HIDDEN);
	/* the machine was started anew: before the head is heard */
	set_processes(&w, "hidepid=0");
	assert_true(sees(&w, ALICE, getpid()));
	again(&w);
	assert_false(sees(&w, ALICE, getpid()));
	/* an image that hides more, even from root's group */
	set_processes(&w, "hidepid=4");
	again(&w);
	want(&w, members("hpc", true, false));
	char *mounts = read_text("/proc/self/mounts");
	assert_non_null(strstr(mounts, "hidepid=ptraceable"));
	free(mounts);
	assert_int_equal(accounts_leave(w.a, "", NULL), 0);
	node_fini(&w);
}

static int without_processes(void **state)
{
	umount2(scratch_path(*state, "proc"), MNT_DETACH);
	return scratch_teardown(state);
}

int main(void)
{
	if (geteuid() != 0) {
		print_message("accounts are root's to make\n");
		return 0;
	}
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_come_and_go),
		TEST(test_other_re),
		TEST(test_clashes),
		TEST(test_system_numbers),
		TEST(test_no_shadow),
		TEST(test_image_has_it),
		TEST(test_block_without_end),
		TEST(test_behind_the_block),
		TEST(test_somebody_else_changes),
		TEST(test_who_works_stays),
		TEST(test_hostile_scratch),
		TEST(test_open_scratch),
		TEST(test_a_damaged_record_harms_nobody),
		TEST(test_the_node_leaves_after_damage),
		TEST(test_of_two_res_neither_is_taken),
		TEST(test_damage_in_all_files),
		cmocka_unit_test_setup_teardown(test_nobody_sees_processes_of_others, scratch_setup,
						without_processes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
