/* What switches say of themselves: frames as several makers send them, and frames of strangers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "inventory/inventory.h"

/* a TLV whose length is below 256 */
#define TLV(type, length, text) type length text
#define CHASSIS_MAC TLV("\x02", "\x07", "\x04\x3c\xec\xef\x00\x00\x02")
#define TTL TLV("\x06", "\x02", "\x00\x78")
#define END "\x00\x00"

static const struct {
	const char *name, *frame;
	size_t n;
	int result;
	const char *system, *port;
	bool ends;
} cases[] = {
#define CASE(name, frame, ...) \
	{ \
		name, frame, sizeof(frame) - 1, __VA_ARGS__ \
	}
	CASE("a name, a port by its interface's name",
	     CHASSIS_MAC TLV("\x04", "\x0a",
			     "\x05"
			     "Ethernet7") TTL TLV("\x08", "\x05", "to n1")
		     TLV("\x0a", "\x05", "tor-7") TLV("\x0e", "\x04", "\0\x14\0\x14") END,
	     0, "tor-7", "Ethernet7", false),
	CASE("no name, a port by its MAC address: the description says more",
	     CHASSIS_MAC TLV("\x04", "\x07", "\x03\x3c\xec\xef\x00\x00\x09")
		     TTL TLV("\x08", "\x06", "port 9") END,
	     0, "3c:ec:ef:00:00:02", "port 9", false),
	CASE("a port by its MAC address alone",
	     CHASSIS_MAC TLV("\x04", "\x07", "\x03\x3c\xec\xef\x00\x00\x09") TTL END, 0,
	     "3c:ec:ef:00:00:02", "3c:ec:ef:00:00:09", false),
	CASE("a chassis by its address, a port that is local",
	     TLV("\x02", "\x06", "\x05\x01\x0a\x00\x00\x01") TLV("\x04", "\x03",
								 "\x07"
								 "12") TTL END,
	     0, "10.0.0.1", "12", false),
	CASE("it goes away",
	     CHASSIS_MAC TLV("\x04", "\x03",
			     "\x07"
			     "12") TLV("\x06", "\x02", "\0\0") END,
	     0, "3c:ec:ef:00:00:02", "12", true),
	CASE("no end, as some leave it out",
	     CHASSIS_MAC TLV("\x04", "\x03",
			     "\x07"
			     "12") TTL,
	     0, "3c:ec:ef:00:00:02", "12", false),
	CASE("text that steers a terminal",
	     CHASSIS_MAC TLV("\x04", "\x03",
			     "\x07"
			     "12") TTL TLV("\x0a", "\x06", "a\x1b[2J\n") END,
	     0, "a?[2J", "12", false),
	/* what is none */
	CASE("nothing", "", -EBADMSG, "", "", false),
	CASE("no port", CHASSIS_MAC TTL END, -EBADMSG, "", "", false),
	CASE("no time to live",
	     CHASSIS_MAC TLV("\x04", "\x03",
			     "\x07"
			     "12") END,
	     -EBADMSG, "", "", false),
	CASE("a length beyond the frame",
	     CHASSIS_MAC TLV("\x04", "\xff",
			     "\x07"
			     "12") TTL END,
	     -EBADMSG, "", "", false),
	CASE("a chassis of a kind that nobody knows",
	     TLV("\x02", "\x03",
		 "\x09"
		 "ab") TLV("\x04", "\x03",
			   "\x07"
			   "12") TTL END,
	     -EBADMSG, "", "", false),
	CASE("a MAC address of four bytes",
	     TLV("\x02", "\x05",
		 "\x04"
		 "abcd") TLV("\x04", "\x03",
			     "\x07"
			     "12") TTL END,
	     -EBADMSG, "", "", false),
};

static void frames_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_lldp_neighbor heard = {.system = "", .port = ""};
		int r = phx_lldp_parse(cases[i].frame, cases[i].n, &heard);
		if (r != cases[i].result || strcmp(heard.system, cases[i].system) ||
		    strcmp(heard.port, cases[i].port) || heard.ends != cases[i].ends)
			fail_msg("%s: %d, '%s', '%s'", cases[i].name, r, heard.system, heard.port);
	}
}

/* Cut anywhere: nothing is read beyond (under the sanitizers, too), and what is refused changes
 * nothing. */
static void cut_frames_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++)
		for (size_t n = 0; n <= cases[i].n; n++) {
			struct phx_lldp_neighbor heard = {.system = "before", .ends = true};
			PHX_AUTO_FREE uint8_t *copy = malloc(n ? n : 1);
			memcpy(copy, cases[i].frame, n);
			if (phx_lldp_parse(copy, n, &heard) < 0) {
				assert_string_equal(heard.system, "before");
				assert_true(heard.ends);
			}
		}
}

/* A name of 500 bytes, of which 63 are kept. */
static void long_names_are_cut(void **state)
{
	static const char begin[] = CHASSIS_MAC TLV("\x04", "\x03",
						    "\x07"
						    "12") TTL;
	uint8_t frame[600];
	struct phx_lldp_neighbor heard;
	(void)state;
	memset(frame, 'x', sizeof(frame));
	memcpy(frame, begin, sizeof(begin) - 1);
	frame[sizeof(begin) - 1] = 0x0b;
	frame[sizeof(begin)] = 0xf4;
	assert_int_equal(phx_lldp_parse(frame, sizeof(begin) + 1 + 500, &heard), 0);
	assert_int_equal(strlen(heard.system), 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_read),
		cmocka_unit_test(cut_frames_are_refused),
		cmocka_unit_test(long_names_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
