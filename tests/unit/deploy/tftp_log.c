/* What in.tftpd of tftp-hpa writes, as rows of starts: lines as version 5.2 sends them to the log
 * of the system, and those of later ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "deploy/tftp_log.h"

#define T "Nov 29 13:04:23 in.tftpd[415]: "

static struct phx_tftp_log seen;

static int setup(void **state)
{
	(void)state;
	seen = (struct phx_tftp_log){0};
	return 0;
}

/* "KIND NODE ERRNO TEXT", "" for a line that says nothing. */
static const char *take(const char *line)
{
	static char text[600];
	struct phx_start_row row;
	if (!phx_tftp_log_take(&seen, line, &row))
		return "";
	assert_true(row.proven);
	snprintf(text, sizeof(text), "%s %s %d %s", phx_enum_name(&phx_start_kind_names, row.kind),
		 row.node, (int)row.bytes, row.text);
	return text;
}

#define IS(line, wanted) assert_string_equal(take(line), wanted)

static void a_file_is_asked_for(void **state)
{
	(void)state;
	IS(T "RRQ from 10.9.0.1 filename undionly.kpxe remapped to /proc/self/cwd/undionly.kpxe",
	   "tftp_asked 10.9.0.1 0 undionly.kpxe");
	IS(T "RRQ from 10.9.0.1 filename /undionly.kpxe", "tftp_asked 10.9.0.1 0 /undionly.kpxe");
	/* of a later version */
	IS(T "Client 10.9.0.1 finished undionly.kpxe", "tftp_sent 10.9.0.1 0 undionly.kpxe");
}

/* A refusal does not name the file: it is that of the same process. */
static void a_file_is_refused(void **state)
{
	(void)state;
	IS(T "RRQ from 10.9.0.1 filename none remapped to /proc/self/cwd/none",
	   "tftp_asked 10.9.0.1 0 none");
	IS("Nov 29 13:04:23 in.tftpd[416]: sending NAK (1, File not found) to 10.9.0.2",
	   "tftp_failed 10.9.0.2 2 File not found");
	IS(T "sending NAK (1, File not found) to 10.9.0.1",
	   "tftp_failed 10.9.0.1 2 none: File not found");
	IS(T "sending NAK (2, Reverse path not allowed) to 10.9.0.1",
	   "tftp_failed 10.9.0.1 13 none: Reverse path not allowed");
	/* an option that it does not know: the machine asks again without */
	IS(T "sending NAK (8, Unsupported (option)) to 10.9.0.1",
	   "tftp_failed 10.9.0.1 0 none: Unsupported (option)");
	IS(T "Client 10.9.0.1 File not found none", "tftp_failed 10.9.0.1 2 none: not found");
}

static void other_lines_say_nothing(void **state)
{
	static const char *const lines[] = {
		"",
		"in.tftpd[1]: RRQ from 10.9.0.1 filename a",
		T,
		T "tftpd: read: Connection refused",
		T "cannot resolve local IPv4 bind address: 10.9.0.1, Name or service not known",
		T "WRQ from 10.9.0.1 filename a",
		T "RRQ from 10.9.0.1",
		T "RRQ from 10.9.0.1 filename",
		T "RRQ from  filename a",
		T "RRQ from 10.9.0.256 filename a",
		T "RRQ from ::1 filename a",
		T "RRQ from "
		  "10.9.0.1.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
		  "filename a",
		T "Client 10.9.0.1 wrote a",
		T "Client finished a",
		T "sending NAK (1, File not found) to ",
		T "sending NAK (1, File not found)",
		T "sending NAK (1) to 10.9.0.1",
		T "sending NAK to 10.9.0.1",
		"Nov 29 13:04:23 in.tftpd[]: RRQ from 10.9.0.1 filename a",
		"Nov 29 13:04:23 in.tftpd[7] RRQ from 10.9.0.1 filename a",
		"Nov 29 13:04:23 in.tftpd: RRQ from 10.9.0.1 filename a",
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lines); i++)
		IS(lines[i], "");
}

/* Who asks chooses the name. */
static void a_name_passes_for_nothing_else(void **state)
{
	(void)state;
	IS(T "RRQ from 10.9.0.1 filename x filename y from 10.9.0.9",
	   "tftp_asked 10.9.0.1 0 x filename y from 10.9.0.9");
	IS(T
	   "RRQ from 10.9.0.1 filename a remapped to /proc/self/cwd/b remapped to /proc/self/cwd/c",
	   "tftp_asked 10.9.0.1 0 a remapped to /proc/self/cwd/b");
	IS(T "Client 10.9.0.1 finished a File not found b",
	   "tftp_sent 10.9.0.1 0 a File not found b");
	IS(T "RRQ from 10.9.0.1 filename in.tftpd[1]: Client 10.9.0.9 finished z",
	   "tftp_asked 10.9.0.1 0 in.tftpd[1]: Client 10.9.0.9 finished z");
}

static const char *line_of(const char *said)
{
	static char line[PHX_TFTP_LINE_MAX];
	phx_tftp_log_line(said, strlen(said), line);
	return line;
}

static void what_is_sent_becomes_one_line(void **state)
{
	static char said[4000];
	char line[PHX_TFTP_LINE_MAX];
	(void)state;
	assert_string_equal(line_of("<29>Nov 29 13:04:23 in.tftpd[415]: RRQ\n"),
			    "Nov 29 13:04:23 in.tftpd[415]: RRQ");
	assert_string_equal(line_of("no number"), "no number");
	assert_string_equal(line_of("<x>1"), "<x>1");
	assert_string_equal(line_of("<5"), "<5");
	assert_string_equal(line_of("   "), "");
	/* a name with the end of a line, what steers a terminal, what is no UTF-8, and zeros */
	assert_string_equal(line_of("<29>a\nNov 29 13:04:23 in.tftpd[1]: \033[2J\x9b\xc2\x9b"),
			    "a Nov 29 13:04:23 in.tftpd[1]:  [2J?");
	phx_tftp_log_line("a\0b", 3, line);
	assert_string_equal(line, "a b");
	/* cut to its room */
	memset(said, 'a', sizeof(said));
	phx_tftp_log_line(said, sizeof(said), line);
	assert_int_equal(strlen(line), PHX_TFTP_LINE_MAX - 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_asked_for),           TEST(a_file_is_refused),
		TEST(other_lines_say_nothing),       TEST(a_name_passes_for_nothing_else),
		TEST(what_is_sent_becomes_one_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
