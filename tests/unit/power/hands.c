/* The hands as their head sees them: the process is phxd's own. What they do, how many at once, how
 * they are shut in, and that their end costs no operation. */
#include "unit/process_status.h"
#include "unit/power/help.h"

#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>

#include "power/hands_internal.h"

enum { AT_ONCE = 32 };

static char bmc_dir[96], own_dir[96], script[128], shared[96];
static struct phx_list paths, anchor;
static struct phx_hands_config config;
static struct phx_hands *h;
static struct phx_err err;
static atomic_int n_restarts;

static void restarted(void *arg)
{
	(void)arg;
	atomic_fetch_add(&n_restarts, 1);
}

static void add_word(struct phx_list *list, const char *text)
{
	struct phx_word *w = phx_list_push(list, sizeof(*w));
	assert_non_null(w);
	assert_int_equal(PHX_STR_SET(w->text, text), 0);
}

/* The script of all: keeps power in `shared`, waits where a file says so, tries what it is told. */
static const char SCRIPT[] =
	"#!/bin/sh\n"
	"d=%s\n"
	"echo \"$*\" >>$d/log\n"
	"[ -e $d/meet ] && { : >$d/here.$2; while [ -e $d/meet ]; do sleep 0.02; done; }\n"
	"case $1 in\n"
	"status) cat $d/power.$2 ;;\n"
	"on | off) echo $1 >$d/power.$2 ;;\n"
	"reset) sh $d/try >$d/tried 2>&1 ;;\n"
	"*) exit 64 ;;\n"
	"esac\n";

/* Other users may enter it: the hands may become one. */
static int setup(void **state)
{
	(void)state;
	make_dir();
	chmod(test_dir, 0755);
	snprintf(bmc_dir, sizeof(bmc_dir), "%s/bmc", test_dir);
	snprintf(own_dir, sizeof(own_dir), "%s/hands", test_dir);
	snprintf(shared, sizeof(shared), "%s/shared", test_dir);
	mkdir(bmc_dir, 0711);
	mkdir(shared, 0777);
	chmod(shared, 0777);
	PHX_AUTO_FREE char *text = phx_path(SCRIPT, shared);
	PHX_STR_SET(script, put_file("bmc/script", 0755, text));
	add_word(&paths, shared);
	config = (struct phx_hands_config){.program = APART_PROGRAM,
					   .user = "",
					   .bmc_dir = bmc_dir,
					   .run_dir = test_dir,
					   .paths = &paths,
					   .anchor = &anchor,
					   .restarted = restarted};
	atomic_store(&n_restarts, 0);
	phx_err_clear(&err);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_hands_end(PHX_TAKE(h));
	phx_list_fini(&paths);
	phx_list_fini(&anchor);
	remove_dir();
	return 0;
}

static void start(void)
{
	assert_int_equal(phx_hands_start(&config, &h, &err), 0);
}

static struct phx_bmc bmc_of(const char *node)
{
	struct phx_bmc bmc = {.driver = "script"};
	PHX_STR_SET(bmc.script, script);
	PHX_STR_SET(bmc.node, node);
	return bmc;
}

static void order(const char *node, enum phx_power_op op, int want)
{
	struct phx_bmc bmc = bmc_of(node);
	phx_err_clear(&err);
	int r = phx_hands_power(h, &bmc, op, 20000, NULL, &err);
	if (r != want)
		fail_msg("%s %d: %d, %s", node, (int)op, r, err.text);
}

/* What a program of the hands finds, by a line of shell each. */
static const char *tried(const char *line)
{
	put_file("shared/try", 0644, line);
	order("n1", PHX_POWER_RESET, 0);
	return get_file("shared/tried");
}

/* ---- what they do ---- */

static void they_switch_and_see(void **state)
{
	enum phx_power_state seen = PHX_POWER_UNKNOWN;
	struct phx_bmc bmc = bmc_of("n1");
	(void)state;
	start();
	assert_int_equal(phx_hands_ready(h, &bmc, &err), 0);
	assert_int_equal(phx_hands_power(h, &bmc, PHX_POWER_BOOT, 20000, &seen, &err), 0);
	assert_int_equal(seen, PHX_POWER_IS_ON);
	order("n1", PHX_POWER_BOOT_PXE, -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "power boot-pxe of n1 (script): "));
	PHX_STR_SET(bmc.script, in_dir("bmc/none"));
	assert_int_equal(phx_hands_ready(h, &bmc, &err), -EINVAL);
	assert_int_equal(n_restarts, 0);
}

struct one {
	pthread_t thread;
	char node[16];
	int result;
};

static void *switch_one(void *arg)
{
	struct one *o = arg;
	struct phx_bmc bmc = bmc_of(o->node);
	o->result = phx_hands_power(h, &bmc, PHX_POWER_ON, 20000, NULL, NULL);
	return NULL;
}

/* All of them are in their script at once. */
static void begin_many(struct one *ones)
{
	put_file("shared/meet", 0644, "");
	for (int i = 0; i < AT_ONCE; i++) {
		snprintf(ones[i].node, sizeof(ones[i].node), "n%d", i);
		assert_int_equal(pthread_create(&ones[i].thread, NULL, switch_one, &ones[i]), 0);
	}
	for (int i = 0; i < AT_ONCE; i++) {
		char name[32];
		snprintf(name, sizeof(name), "shared/here.n%d", i);
		assert_int_equal(phx_file_await(in_dir(name), -1, 20000), 0);
	}
}

static void end_many(struct one *ones)
{
	for (int i = 0; i < AT_ONCE; i++) {
		assert_int_equal(pthread_join(ones[i].thread, NULL), 0);
		assert_int_equal(ones[i].result, 0);
	}
}

static void many_are_switched_at_once(void **state)
{
	struct one ones[AT_ONCE];
	(void)state;
	start();
	begin_many(ones);
	unlink(in_dir("shared/meet"));
	end_many(ones);
	assert_int_equal(n_restarts, 0);
}

/* ---- anchors ---- */

static void anchors_are_told(void **state)
{
	(void)state;
	start();
	assert_int_equal(phx_hands_anchor(h, "phoenix anchor", &err), 0); /* there is no program */
	phx_hands_end(PHX_TAKE(h));
	PHX_AUTO_FREE char *text = phx_path("#!/bin/sh\necho \"$*\" >>%s/anchors\n", shared);
	add_word(&anchor, put_file("teller", 0755, text));
	add_word(&anchor, "word");
	start();
	assert_int_equal(phx_hands_anchor(h, "phoenix anchor journal x", &err), 0);
	assert_string_equal(get_file("shared/anchors"), "word phoenix anchor journal x\n");
	assert_int_equal(phx_hands_anchor(h, "--option", &err), -EINVAL);
	assert_int_equal(phx_hands_anchor(h, "two\nlines", &err), -EINVAL);
	assert_int_equal(phx_hands_anchor(h, "", &err), -EINVAL);
	chmod(in_dir("teller"), 0777);
	phx_err_clear(&err);
	assert_int_equal(phx_hands_anchor(h, "phoenix anchor journal y", &err), -EPERM);
	assert_null(strstr(get_file("shared/anchors"), "journal y"));
}

/* ---- how they are shut in ---- */

static bool status_has(const char *line)
{
	return process_status_has(phx_hands_pid(h), line);
}

static struct phx_bmc redfish(const char *password_file)
{
	struct phx_bmc bmc = {.driver = "redfish", .address = "127.0.0.1:9", .user = "root"};
	PHX_STR_SET(bmc.password_file, password_file);
	return bmc;
}

static void they_see_their_files_alone(void **state)
{
	struct phx_bmc good = redfish(put_file("bmc/rack1", 0600, "secret\n")),
		       bad = redfish(put_file("rack1", 0600, "secret\n"));
	char line[256];
	(void)state;
	start();
	assert_int_equal(phx_hands_ready(h, &good, &err), 0);
	assert_int_equal(phx_hands_ready(h, &bad, &err), -EINVAL);
	if (!strstr(err.text, "bmc_dir"))
		fail_msg("%s", err.text);
	/* nor do their programs; nobody is called by others */
	put_file("journal", 0644, "an event\n");
	snprintf(line, sizeof(line), "cat %s || echo no", in_dir("journal"));
	assert_non_null(strstr(tried(line), "no\n"));
	assert_non_null(strstr(tried("cat /etc/shadow || echo no"), "no\n"));
	assert_null(strstr(get_file("shared/tried"), "root:"));
	assert_non_null(strstr(tried("unshare true || echo no"), "no\n"));
	assert_non_null(strstr(tried("t=$(mktemp) && echo $t"), own_dir));
}

/* What was made since it started counts, too. */
static void they_read_what_root_puts_there(void **state)
{
	struct passwd *nobody = getpwnam("nobody");
	char uids[64], line[256];
	(void)state;
	if (geteuid() != 0 || !nobody)
		skip();
	config.user = "nobody";
	start();
	struct phx_bmc bmc = redfish(put_file("bmc/rack1", 0600, "secret\n"));
	assert_int_equal(phx_hands_ready(h, &bmc, &err), 0);
	snprintf(uids, sizeof(uids), "Uid:\t%u\t%u\t%u\t%u\n", nobody->pw_uid, nobody->pw_uid,
		 nobody->pw_uid, nobody->pw_uid);
	assert_true(status_has(uids));
	assert_true(status_has("CapEff:\t0000000000002004\n")); /* NET_RAW, DAC_READ_SEARCH */
	assert_true(status_has("NoNewPrivs:\t1"));
	assert_true(status_has("Seccomp:\t2"));
	assert_true(status_has("Groups:\t \n") || status_has("Groups:\t\n"));
	/* and no program of theirs does */
	snprintf(line, sizeof(line), "cat %s || echo no; id -un", in_dir("bmc/rack1"));
	assert_non_null(strstr(tried(line), "no\n"));
	assert_non_null(strstr(get_file("shared/tried"), "nobody\n"));
	assert_null(strstr(get_file("shared/tried"), "secret"));
}

/* ---- their end ---- */

static void operations_under_way_are_given_again(void **state)
{
	struct one ones[AT_ONCE];
	(void)state;
	start();
	begin_many(ones);
	assert_int_equal(kill(phx_hands_pid(h), SIGKILL), 0);
	unlink(in_dir("shared/meet"));
	end_many(ones);
	assert_int_equal(n_restarts, 1);
}

/* A program that outlived them would still talk to its BMC when the next operation does. */
static void their_programs_end_with_them(void **state)
{
	struct one one = {.node = "n1"};
	int pid = 0;
	(void)state;
	start();
	PHX_AUTO_FREE char *text =
		phx_path("#!/bin/sh\necho $$ >%s/new; mv %s/new %s/pid\nexec sleep 1000\n", shared,
			 shared, shared);
	put_file("bmc/script", 0755, text);
	assert_int_equal(pthread_create(&one.thread, NULL, switch_one, &one), 0);
	assert_int_equal(phx_file_await(in_dir("shared/pid"), -1, 20000), 0);
	assert_int_equal(sscanf(get_file("shared/pid"), "%d", &pid), 1);
	put_file("bmc/script", 0755, "#!/bin/sh\necho on\n");
	assert_int_equal(kill(phx_hands_pid(h), SIGKILL), 0);
	assert_int_equal(pthread_join(one.thread, NULL), 0);
	assert_int_equal(one.result, 0);
	for (int64_t end = clock_ms() + 20000; phx_process_since(pid); sleep_ms(5))
		assert_true(clock_ms() < end);
}

/* ---- what a head that was taken over asks ---- */

static void nonsense_is_answered(void **state)
{
	static const char *const bodies[] = {"",
					     "{",
					     "[]",
					     "{\"driver\":\"none\"}",
					     "{\"driver\":7}",
					     "{\"driver\":\"script\"}"};
	(void)state;
	for (uint32_t op = 0; op < N_HANDS_OPS + 2; op++)
		for (size_t i = 0; i < PHX_ARRAY_SIZE(bodies); i++) {
			struct phx_apart_question q = {.op = op,
						       .number = UINT64_MAX,
						       .name = "status",
						       .body = bodies[i],
						       .n = (uint32_t)strlen(bodies[i])};
			PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
			int r = hands_answer(&config, &q, &reply, &err);
			assert_true(op == HANDS_anchor || r < 0);
			assert_true(op < N_HANDS_OPS || r == -ENOSYS);
		}
	const struct phx_apart_question q = {
		.op = HANDS_ready, .body = "{\"driver\":\"none\"}\0x", .n = 19};
	struct phx_apart_reply reply = {0};
	assert_int_equal(hands_answer(&config, &q, &reply, &err), -EINVAL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(they_switch_and_see),
		TEST(many_are_switched_at_once),
		TEST(anchors_are_told),
		TEST(they_see_their_files_alone),
		TEST(they_read_what_root_puts_there),
		TEST(operations_under_way_are_given_again),
		TEST(their_programs_end_with_them),
		TEST(nonsense_is_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
