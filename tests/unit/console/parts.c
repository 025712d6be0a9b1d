/* Consoles without a process: what conserver is told, what a driver runs, bytes into lines, the
 * bounds of a log. */
#include "unit/power/help.h"

#include "console/console.h"

/* ---- lines ---- */

static char lines[1 << 16];

static void keep(void *arg, const char *line)
{
	(void)arg;
	assert_true(strlen(line) > 0 && strlen(line) <= PHX_CONSOLE_LINE_MAX);
	strcat(strcat(lines, line), "|");
}

/* As a whole, and byte by byte: where a part ends changes nothing. */
static void cut_is(const char *bytes, size_t n, const char *want)
{
	for (size_t step = 1; step <= n; step += n > 1 ? n - 1 : 1) {
		struct phx_console_cut c = {0};
		lines[0] = '\0';
		for (size_t at = 0; at < n; at += step)
			phx_console_cut_put(&c, bytes + at, n - at < step ? n - at : step, keep,
					    NULL);
		phx_console_cut_flush(&c, keep, NULL);
		assert_string_equal(lines, want);
	}
}
#define CUT(bytes, want) cut_is(bytes, sizeof(bytes) - 1, want)

static void lines_are_cut(void **state)
{
	(void)state;
	CUT("one\r\ntwo\n\nthree", "one|two|three|");
	CUT("10%\r20%\r", "10%|20%|");
	CUT("a\tb\a\b\0c\177d\n", "a bcd|");
}

static void nothing_steers_a_terminal(void **state)
{
	(void)state;
	CUT("\033[31mred\033[0m\n", "red|");
	CUT("\033]0;title\007x\033]52;c;aGk=\033\\y\n", "xy|");
	CUT("\033P1;2q...\033\\z\033(Bw\n", "zw|");
	CUT("\302\233"
	    "31m \342\200\256"
	    "x \377\n",
	    "??31m ???x ?|");
}

static void nothing_keeps_the_rest_out(void **state)
{
	char text[4000];
	struct phx_console_cut c = {0};
	(void)state;
	CUT("\033]never ends\nKernel panic\n", "Kernel panic|");
	CUT("\033\000Kernel panic\n", "Kernel panic|");
	memset(text, 'x', sizeof(text));
	text[0] = '\033';
	text[1] = ']';
	lines[0] = '\0';
	phx_console_cut_put(&c, text, sizeof(text), keep, NULL);
	phx_console_cut_flush(&c, keep, NULL);
	assert_true(strlen(lines) > sizeof(text) - PHX_CONSOLE_SKIP_MAX - 16);
}

/* A character is not cut in two where a line is too long. */
static void long_lines_go_on(void **state)
{
	char text[PHX_CONSOLE_LINE_MAX + 10], want[PHX_CONSOLE_LINE_MAX + 20];
	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text + PHX_CONSOLE_LINE_MAX - 1, "\303\244", 2);
	memcpy(want, text, PHX_CONSOLE_LINE_MAX - 1);
	sprintf(want + PHX_CONSOLE_LINE_MAX - 1, "|\303\244xxxxxxxxx|");
	cut_is(text, sizeof(text), want);
}

static void marks_are_found(void **state)
{
	(void)state;
	assert_null(phx_console_mark_of("Welcome"));
	assert_string_equal(
		phx_console_mark_of(
			"[1.0] Kernel panic - not syncing: VFS: Unable to mount root fs")
			->meaning,
		"the kernel found no root file system");
	assert_non_null(phx_console_mark_of("Out of memory: Killed process 1 (x)"));
}

/* One that says the same without end is told now and then, and keeps no other out. */
static void marks_are_told_once_in_a_while(void **state)
{
	const struct phx_console_mark *panic = phx_console_mark_of("Kernel panic");
	const struct phx_console_mark *memory = phx_console_mark_of("Out of memory");
	struct phx_console_marked_of of = {0};
	unsigned n = 0;
	(void)state;
	for (int64_t ms = 5; ms < 5 + 3 * PHX_CONSOLE_MARK_AGAIN_MS; ms += 10)
		n += phx_console_mark_news(&of, panic, ms);
	assert_int_equal(n, 3);
	assert_true(phx_console_mark_news(&of, memory, 3 * PHX_CONSOLE_MARK_AGAIN_MS));
	assert_false(phx_console_mark_news(&of, memory, 3 * PHX_CONSOLE_MARK_AGAIN_MS));
}

/* ---- what goes between conserver and people ---- */

static void orders_of_conserver_are_left_out(void **state)
{
	char in[] = "a\377\377b\377Ec", first[] = "x\377", second[] = "\377y";
	bool held = false;
	(void)state;
	assert_int_equal(phx_console_wire_in(in, sizeof(in) - 1, &held), 4);
	assert_memory_equal(in, "a\377bc", 4);
	assert_int_equal(phx_console_wire_in(first, 2, &held), 1);
	assert_true(held);
	assert_int_equal(phx_console_wire_in(second, 2, &held), 2);
	assert_memory_equal(second, "\377y", 2);
}

static void nobody_types_an_order(void **state)
{
	char out[] = "\005c|a\376\375f\377E";
	(void)state;
	assert_int_equal(phx_console_wire_out(out, sizeof(out) - 1), 6);
	assert_memory_equal(out, "\005c|afE", 6);
}

static void typed_is(enum phx_console_driver d, const char *a, const char *b, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf buf = {0};
	uint8_t held = 0;
	phx_console_typed(d, a, strlen(a), &held, &buf);
	phx_console_typed(d, b, strlen(b), &held, &buf);
	assert_string_equal(buf.data ? buf.data : "", want);
}

static void ipmiconsole_takes_no_orders_but_a_break(void **state)
{
	(void)state;
	typed_is(PHX_CONSOLE_ipmi, "a&.b", "", "a&&.b");
	typed_is(PHX_CONSOLE_ipmi, "a\376", "Bc", "a&Bc");
	typed_is(PHX_CONSOLE_ipmi, "\376", "x&", "&&");
	typed_is(PHX_CONSOLE_script, "a&.\376Bc", "", "a&.c");
}

/* ---- drivers ---- */

static void refused(const struct phx_bmc *bmc, const char *say)
{
	struct phx_err err = {0};
	assert_int_equal(phx_console_check(bmc, &err), -EINVAL);
	assert_non_null(strstr(err.text, say));
}

static void drivers_say_what_they_lack(void **state)
{
	(void)state;
	refused(&(struct phx_bmc){.console = "telnet"}, "ipmi");
	refused(&(struct phx_bmc){.console = "ipmi"}, "address");
	refused(&(struct phx_bmc){.driver = "ipmi", .address = "b1"}, "password_file");
	refused(&(struct phx_bmc){.console = "script", .console_script = "x"}, "console_script");
	assert_int_equal(phx_console_check(&(struct phx_bmc){.driver = "wol"}, NULL), 0);
	assert_int_equal(
		phx_console_check(&(struct phx_bmc){.driver = "ipmi", .console = "none"}, NULL), 0);
}

static void secrets_stay_out_of_command_lines(void **state)
{
	struct phx_bmc bmc = {.driver = "ipmi",
			      .address = "b1:6230",
			      .user = "ops",
			      .node = "n1",
			      .workarounds = "efiboot,opensesspriv"};
	PHX_AUTO(phx_console_run_fini) struct phx_console_run run = {0};
	struct phx_err err = {0};
	char all[600] = "";
	(void)state;
	make_dir();
	PHX_STR_SET(bmc.password_file, put_file("pw", 0600, "s3cret\n"));
	assert_int_equal(phx_console_run_make(&bmc, "/run/x/n1", false, &run, &err), 0);
	for (size_t i = 0; run.argv[i]; i++)
		strcat(strcat(all, run.argv[i]), " ");
	assert_string_equal(all,
			    "ipmiconsole --config-file=/run/x/n1 -u ops -h b1:6230 -I 3 -l "
			    "ADMIN -W opensesspriv --dont-steal ");
	assert_string_equal(run.secret, "password \"s3cret\"\n");
	phx_console_run_fini(&run);
	assert_int_equal(phx_console_run_make(&bmc, "/run/x/n1", true, &run, &err), 0);
	assert_string_equal(run.argv[11], "opensesspriv");
	assert_null(run.argv[12]);
	chmod(bmc.password_file, 0644);
	struct phx_console_run none;
	assert_int_equal(phx_console_run_make(&bmc, "/run/x/n1", true, &none, &err), -EINVAL);
	remove_dir();
}

static void the_end_of_ipmiconsole_has_a_meaning(void **state)
{
	static const char said[] = "junk\n[error received]: SOL in use\n";
	(void)state;
	assert_non_null(
		strstr(phx_console_why(PHX_CONSOLE_ipmi, said, sizeof(said) - 1, 1), "--steal"));
	assert_non_null(
		strstr(phx_console_why(PHX_CONSOLE_script, said, sizeof(said) - 1, 1), "ended"));
}

/* ---- conserver.cf ---- */

static void conserver_is_told(void **state)
{
	const char *nodes[] = {"n1", "rack-2.n7"};
	const struct phx_console_conf c = {"/run/p/s", "/run/p/pw", "phx", 7782, nodes, 2};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	phx_console_conf_put(&c, &b);
	assert_non_null(strstr(b.data, "\tprimaryport 7782;\n"));
	assert_non_null(strstr(b.data, "\tallowed 127.0.0.1;\n"));
	assert_non_null(strstr(b.data, "\tpasswdfile /run/p/pw;\n"));
	assert_non_null(strstr(b.data, "\nconsole n1 { }\nconsole rack-2.n7 { }\n"));
	/* conserver itself finds nothing wrong with it */
	make_dir();
	const char *const argv[] = {"conserver", "-S", "-C", put_file("cf", 0600, b.data), NULL};
	const struct phx_run run = {.argv = argv};
	struct phx_err err = {0};
	if (phx_run_check(&run, NULL, &err) < 0)
		fail_msg("%s", err.text);
	remove_dir();
}

static void sockets_have_paths_that_fit(void **state)
{
	char path[300], dir[120];
	(void)state;
	memset(dir, 'd', sizeof(dir));
	dir[100] = '\0';
	assert_int_equal(phx_console_socket(dir, "n1", path, sizeof(path)), 0);
	assert_int_equal(phx_console_socket(dir, "n123456", path, sizeof(path)), -ENAMETOOLONG);
}

/* ---- bounds ---- */

static void a_rate_is_kept(void **state)
{
	struct phx_console_rate r = {.per_s = 1000, .burst = 5000};
	(void)state;
	assert_int_equal(phx_console_rate_take(&r, 1, 4096), 4096);
	assert_int_equal(phx_console_rate_take(&r, 1, 4096), 904);
	assert_int_equal(phx_console_rate_take(&r, 1, 4096), 0);
	assert_int_equal(phx_console_rate_take(&r, 501, 4096), 500);
	phx_console_rate_back(&r, 400);
	assert_int_equal(phx_console_rate_take(&r, 501, 4096), 400);
	assert_int_equal(phx_console_rate_take(&r, 1 << 20, 8192), 5000);
}

static void a_log_has_bounds(void **state)
{
	struct phx_console_log l;
	struct stat st;
	uint64_t all = 0;
	char line[100];
	(void)state;
	make_dir();
	phx_console_log_init(&l, test_dir, "n1", 10000);
	for (int i = 0; i < 1000; i++) {
		int n = snprintf(line, sizeof(line), "2026-11-29T00:00:00Z line %d of many\n", i);
		assert_int_equal(phx_console_log_put(&l, line, (size_t)n), 0);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stat(in_dir(i ? "n1.log.1" : "n1.log"), &st), 0);
		all += (uint64_t)st.st_size;
	}
	assert_in_range(all, 5000, 10000);
	/* one who opens it again goes on where it was */
	struct phx_console_log again;
	phx_console_log_init(&again, test_dir, "n1", 10000);
	assert_int_equal(again.size, l.size);
	remove_dir();
}

static void reads(uint32_t n, const char *word, size_t max, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_err err = {0};
	assert_int_equal(phx_console_log_read(test_dir, "n1", n, word, max, &b, &err), 0);
	assert_string_equal(b.data ? b.data : "", want);
}

static void a_log_is_searched(void **state)
{
	(void)state;
	make_dir();
	reads(10, "", 1000, "");
	put_file("n1.log.1", 0600, "a panic\nb\nc panic\n");
	put_file("n1.log", 0600, "d\ne panic\nf\n");
	reads(2, "", 1000, "e panic\nf\n");
	reads(4, "", 1000, "c panic\nd\ne panic\nf\n");
	reads(2, "panic", 1000, "c panic\ne panic\n");
	reads(9, "panic", 1000, "a panic\nc panic\ne panic\n");
	reads(9, "panic", 17, "c panic\ne panic\n");
	remove_dir();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_cut),
		cmocka_unit_test(nothing_steers_a_terminal),
		cmocka_unit_test(nothing_keeps_the_rest_out),
		cmocka_unit_test(long_lines_go_on),
		cmocka_unit_test(marks_are_found),
		cmocka_unit_test(marks_are_told_once_in_a_while),
		cmocka_unit_test(orders_of_conserver_are_left_out),
		cmocka_unit_test(nobody_types_an_order),
		cmocka_unit_test(ipmiconsole_takes_no_orders_but_a_break),
		cmocka_unit_test(drivers_say_what_they_lack),
		cmocka_unit_test(secrets_stay_out_of_command_lines),
		cmocka_unit_test(the_end_of_ipmiconsole_has_a_meaning),
		cmocka_unit_test(conserver_is_told),
		cmocka_unit_test(sockets_have_paths_that_fit),
		cmocka_unit_test(a_rate_is_kept),
		cmocka_unit_test(a_log_has_bounds),
		cmocka_unit_test(a_log_is_searched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
