/* What is cut out of sentences (cmd/phxd/view_hide.c): ids of disks, selectors and addresses from
 * who sees names only, and what services wrote from who has no right to logs; what only looks like
 * one stays. Sentences put together at random are cut whole, stay JSON, and do not grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/json.h"
#include "phxd/view_hide.c" /* a part of a program, not of the library */

enum { BOTH = VIEW_HIDE_HARDWARE | VIEW_HIDE_SAID };

static void assert_cut(const char *from, unsigned what, bool json, const char *want)
{
	char text[400];
	assert_int_equal(PHX_STR_SET(text, from), 0);
	assert_int_equal(view_hide(text, what, json), strlen(want));
	assert_string_equal(text, want);
}

/* Who sees names only reads sentences without ids of disks; what only looks like one stays. */
static void ids_of_disks_are_cut(void **state)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"disk serial-FAKE-2-1 (4 bytes) is not there",
		 "disk serial-... (4 bytes) is not there"},
		{"wwn-0x5000c500a1b2c3d4: no erase", "wwn-...: no erase"},
		{"\"reason\":\"serial-A_b.c+d-1\",\"x\":1", "\"reason\":\"serial-...\",\"x\":1"},
		{"serial-1,wwn-22,serial-333", "serial-.,wwn-..,serial-..."},
		{"serial- wwn-", "serial- wwn-"},
		{"a serial number, an-serial-9, my.wwn-1, serial",
		 "a serial number, an-serial-9, my.wwn-1, serial"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_cut(rows[i][0], VIEW_HIDE_HARDWARE, false, rows[i][1]);
	/* behind an escaped character a word begins */
	assert_cut("\"a\\nserial-X\\t10.77.0.12\\\"wwn-1\\u0001serial-Y\"", VIEW_HIDE_HARDWARE,
		   true, "\"a\\nserial-.\\t...\\\"wwn-.\\u0001serial-.\"");
}

static void addresses_are_cut(void **state)
{
	static const char *const rows[][2] = {
		{"10.77.0.12", "..."},
		{"from 10.77.0.12: it is", "from ...: it is"},
		{"from 10.77.0.12. It", "from .... It"},
		{"from fd00::12. 1.2.3", "from .... 1.2.3"},
		{"https://10.77.0.12:8443: refused", "https://...:8443: refused"},
		{"[fd00::12]:8443", "[...]:8443"},
		{"10.0.0.1,10.0.0.2", "...,..."},
		{"(::1)", "(...)"},
		{"tcp:10.0.0.1:80, tcp:fd00::12", "tcp:...:80, tcp:..."},
		/* neither times, names nor MAC addresses are any */
		{"web-10.1.2.3 at 12:30:05, 02:00:00:00:00:01",
		 "web-10.1.2.3 at 12:30:05, 02:00:00:00:00:01"},
		{"1.2.3.4.5, 1.2.3.256, face, 1.2", "1.2.3.4.5, 1.2.3.256, face, 1.2"},
		/* a version of four numbers may be one */
		{"kernel 6.1.0.18", "kernel ..."},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_cut(rows[i][0], VIEW_HIDE_HARDWARE, false, rows[i][1]);
}

static void versions_are_cut(void **state)
{
	static const char *const rows[][2] = {
		{"debian-12@7.0", "debian-12..."},
		{"update failed, runs debian@7.1 web-1.0 lib_x-2 again: no disk",
		 "update failed, runs debian... again: no disk"},
		{"it goes back to debian@7 web-1; later", "it goes back to debian...; later"},
		{"\"expected\":\"debian@7 web-1\"", "\"expected\":\"debian...\""},
		{"debian@7 of 2 disks", "debian.. of 2 disks"},
		/* none has a name, or a version */
		{"@7 web-1, debian@ web-1, a-b c-d", "@7 web-1, debian@ web-1, a-b c-d"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		assert_cut(rows[i][0], VIEW_HIDE_SOFTWARE, i == 3, rows[i][1]);
		assert_cut(rows[i][0], BOTH, i == 3, rows[i][0]);
	}
}

static void an_address_is_one_from_its_first_byte_to_its_last(void **state)
{
	/* the longest that there is */
	static const char most[] = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255";
	(void)state;
	assert_int_equal(strlen(most), 45);
	assert_true(view_is_address(most, 45));
	assert_false(view_is_address(most, 44 - 14));
	assert_false(view_is_address("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555", 46));
	assert_true(view_is_address("::1", 3));
	assert_false(view_is_address("", 0));
	assert_false(view_is_address("10.0.0.1x", 9));
	assert_true(view_is_address("10.0.0.1x", 8));
	assert_false(view_is_address("unix:alice", 10));
}

/* A selector names a disk by its serial number, or a way to it by an address. */
static void selectors_of_protected_disks_are_cut(void **state)
{
	static const char *const rows[][2] = {
		{"disk serial-X is protected, or may be: setting protected_disks: serial=ZC1: "
		 "nothing",
		 "disk serial-. is protected, or may be: setting protected_disks: ..."},
		{"setting protected_disks: id=wwn-0x5*, size=1TiB..",
		 "setting protected_disks: ..."},
		{"setting protected_disks: path=ip-10.0.0.5:3260-iscsi-iqn*",
		 "setting protected_disks: ..."},
		{"setting protected_disks: ", "setting protected_disks: "},
		{"remote (fc), setting protect_remote_disks",
		 "remote (fc), setting protect_remote_disks"},
		{"my-protected_disks: a", "my-protected_disks: a"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_cut(rows[i][0], VIEW_HIDE_HARDWARE, false, rows[i][1]);
	assert_cut("{\"why\":\"setting protected_disks: model=\\\"A\\\" B\",\"re\":\"hpc\"}",
		   VIEW_HIDE_HARDWARE, true,
		   "{\"why\":\"setting protected_disks: ...\",\"re\":\"hpc\"}");
}

/* Who may not read what services write is told that one ended, and not what it wrote last. */
static void what_services_wrote_is_cut(void **state)
{
	static const struct {
		bool json;
		const char *text, *left;
	} rows[] = {
		{false, "service s ended at once with status 1", NULL},
		{false, "status 7 of 10", NULL},
		{false, "its status is: said", NULL},
		{false, "start failed: service s ended at once with status 1: a \"b\"",
		 "start failed: service s ended at once with status 1"},
		{false, "not running: s (status -9: said), t (status 1: said)",
		 "not running: s (status -9"},
		{false, "service s: cannot run: said", "service s"},
		{false, "not healthy: 1.2.3.4:80: refused; s: said", "not healthy"},
		{false, "/bin/check: exit status 2: said", "/bin/check: exit status 2"},
		{true, "\"reason\":\"s with status 1: a \\\"b\\\\\",\"role\":\"web\"",
		 "\"reason\":\"s with status 1\",\"role\":\"web\""},
		{true, "{\"error\":\"status 1: a\"},{\"error\":\"status 2: b\\",
		 "{\"error\":\"status 1\"},{\"error\":\"status 2"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_cut(rows[i].text, VIEW_HIDE_SAID, rows[i].json,
			   rows[i].left ? rows[i].left : rows[i].text);
}

/* Each of the two is cut from who lacks that right, and nothing from who has both. */
static void what_may_be_known_stays(void **state)
{
	static const char text[] = "disk wwn-0x5000 at 10.0.0.1: s with status 1: said";
	(void)state;
	assert_cut(text, 0, false, text);
	assert_cut(text, VIEW_HIDE_HARDWARE, false, "disk wwn-... at ...: s with status 1: said");
	assert_cut(text, VIEW_HIDE_SAID, false, "disk wwn-0x5000 at 10.0.0.1: s with status 1");
	assert_cut(text, BOTH, false, "disk wwn-... at ...: s with status 1");
}

/* ---- sentences at random ---- */

static uint64_t last_random;
static uint32_t random_below(uint32_t n)
{
	last_random = last_random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(last_random >> 33) % n;
}

/* Each has SECRET within. */
static const char *const secrets[] = {
	"serial-SECRET",         "wwn-0xSECRET5000",    "protected_disks: serial=SECRET ",
	"with status 1: SECRET", "not healthy: SECRET",
};
static const char *const words[] = {
	"disk",     "\n",          "\t",     "\"",  "\\",       "\x01",
	"\xc3\xa9", ": ",          ", ",     "(",   ")",        "status",
	"10.0.0.1", "service s: ", "serial", "wwn", "12:30:05", "fd00::12",
	".",        "\"serial-",   "\\n",    "",
};

/* Words and secrets with blanks between them. */
static void make_sentence(char *ret, size_t size)
{
	size_t n = 0;
	ret[0] = '\0';
	for (uint32_t left = random_below(9); left > 0 && n < size; left--) {
		bool secret = random_below(3) == 0;
		n += (size_t)snprintf(ret + n, size - n, "%s ",
				      secret ? secrets[random_below(PHX_ARRAY_SIZE(secrets))]
					     : words[random_below(PHX_ARRAY_SIZE(words))]);
	}
}

static void no_sentence_keeps_a_secret_and_json_stays_json(void **state)
{
	char sentences[3][300];
	uint32_t n_had = 0;
	(void)state;
	last_random = 1;
	while (n_had < 20000) {
		for (int i = 0; i < 3; i++)
			make_sentence(sentences[i], sizeof(sentences[i]));
		PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:[s,s],s:i}", "a", sentences[0], "b",
						    sentences[1], sentences[2], "c", 7);
		assert_non_null(j);
		PHX_AUTO_FREE char *text = json_dumps(j, JSON_COMPACT);
		size_t before = strlen(text);
		n_had += strstr(text, "SECRET") != NULL;
		size_t after = view_hide(text, BOTH, true);
		assert_int_equal(after, strlen(text));
		assert_true(after <= before);
		if (strstr(text, "SECRET"))
			fail_msg("%s", text);
		PHX_AUTO_JSON json_t *cut = json_loads(text, 0, NULL);
		if (!cut || json_array_size(json_object_get(cut, "b")) != 2 ||
		    phx_json_int(cut, "c", 0) != 7)
			fail_msg("no JSON any more: %s", text);
		/* what was cut is not cut again */
		PHX_AUTO_FREE char *again = strdup(text);
		assert_int_equal(view_hide(again, BOTH, true), after);
		assert_string_equal(again, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_of_disks_are_cut),
		cmocka_unit_test(addresses_are_cut),
		cmocka_unit_test(versions_are_cut),
		cmocka_unit_test(an_address_is_one_from_its_first_byte_to_its_last),
		cmocka_unit_test(selectors_of_protected_disks_are_cut),
		cmocka_unit_test(what_services_wrote_is_cut),
		cmocka_unit_test(what_may_be_known_stays),
		cmocka_unit_test(no_sentence_keeps_a_secret_and_json_stays_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
