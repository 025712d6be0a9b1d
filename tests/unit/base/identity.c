/* Identities as text, and lists of them. */
#include "unit/base/test_base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/identity.h"

static void kinds_and_names_are_read(void **state)
{
	static const struct {
		const char *text;
		int kind;
		const char *name;
	} rows[] = {
		{"unix:alice", PHX_IDENTITY_UNIX, "alice"},
		{"cert:campus", PHX_IDENTITY_CERT, "campus"},
		{"node:n1", PHX_IDENTITY_NODE, "n1"},
		{"alice", PHX_IDENTITY_KINDS, "alice"},
		/* accounts are called as others like */
		{"unix:alice@realm", PHX_IDENTITY_UNIX, "alice@realm"},
		{"DOM\\alice", PHX_IDENTITY_KINDS, "DOM\\alice"},
		{"_apt", PHX_IDENTITY_KINDS, "_apt"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_identity is;
		assert_int_equal(phx_identity_parse(rows[i].text, &is, NULL), 0);
		assert_int_equal(is.kind, rows[i].kind);
		assert_string_equal(is.name, rows[i].name);
		assert_int_equal(phx_identity_is_typed(rows[i].text),
				 rows[i].kind != PHX_IDENTITY_KINDS);
	}
}

static void what_is_nobody_is_refused(void **state)
{
	static const char *const bad[] = {"",           ":",         "unix:",       ":alice",
					  "Unix:alice", "uni:alice", "unixx:alice", "unix:a:b",
					  "unix:a b",   "unix:a/b",  "unix:a,b",    "cert:a b",
					  "cert:-x",    "cert:../x", "node:",       "node:a@b",
					  "*",          "unix:*",    "a\tb",        "unix:a\"b",
					  "group:staff"};
	char longest[PHX_NAME_MAX + 8] = "unix:";
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_identity is = {.name = "untouched"};
		struct phx_err err = {0};
		assert_int_equal(phx_identity_parse(bad[i], &is, &err), -EINVAL);
		assert_string_equal(is.name, "untouched");
		assert_non_null(strstr(err.text, "unix:NAME"));
		assert_false(phx_identity_is_typed(bad[i]));
	}
	memset(longest + 5, 'a', PHX_NAME_MAX - 1);
	assert_true(phx_identity_is_typed(longest));
	longest[5 + PHX_NAME_MAX - 1] = 'a';
	assert_false(phx_identity_is_typed(longest));
}

/* The same name of another kind is somebody else, and a name alone is nobody's identity. */
static void kinds_are_never_the_same(void **state)
{
	(void)state;
	assert_true(phx_identity_is("unix:alice", PHX_IDENTITY_UNIX, "alice"));
	assert_false(phx_identity_is("cert:alice", PHX_IDENTITY_UNIX, "alice"));
	assert_false(phx_identity_is("unix:alice", PHX_IDENTITY_CERT, "alice"));
	assert_false(phx_identity_is("alice", PHX_IDENTITY_UNIX, "alice"));
	assert_false(phx_identity_is("unix:", PHX_IDENTITY_UNIX, ""));
	assert_false(phx_identity_is("", PHX_IDENTITY_UNIX, ""));
	char text[PHX_IDENTITY_MAX];
	phx_identity_format(PHX_IDENTITY_NODE, "n1", text);
	assert_string_equal(text, "node:n1");
	phx_identity_format(PHX_IDENTITY_CERT, "a:b", text);
	assert_string_equal(text, "");
}

static void lists_have_words(void **state)
{
	char list[24] = " bob, unix:rob";
	(void)state;
	assert_true(phx_words_have(list, "bob"));
	assert_true(phx_words_have(list, "unix:rob"));
	assert_false(phx_words_have(list, "rob"));
	assert_false(phx_words_have(list, "bo"));
	assert_false(phx_words_have(list, ""));
	assert_int_equal(phx_words_add(list, sizeof(list), "bob"), 0);
	assert_string_equal(list, " bob, unix:rob");
	assert_int_equal(phx_words_add(list, sizeof(list), "cert:x"), 0);
	assert_string_equal(list, " bob, unix:rob cert:x");
	assert_int_equal(phx_words_add(list, sizeof(list), "yz"), -E2BIG);
	assert_true(phx_words_remove(list, "unix:rob"));
	assert_string_equal(list, " bob, cert:x");
	assert_false(phx_words_remove(list, "ob"));
	assert_true(phx_words_remove(list, "cert:x"));
	assert_true(phx_words_remove(list, "bob"));
	assert_string_equal(list, "");
}

static void words_come_in_turn(void **state)
{
	const char *at = ", a bbb ,c";
	char word[3];
	(void)state;
	assert_true(phx_words_next(&at, word, sizeof(word)));
	assert_string_equal(word, "a");
	assert_true(phx_words_next(&at, word, sizeof(word)));
	assert_string_equal(word, "bb"); /* cut */
	assert_true(phx_words_next(&at, word, sizeof(word)));
	assert_string_equal(word, "c");
	assert_false(phx_words_next(&at, word, sizeof(word)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_and_names_are_read),
		cmocka_unit_test(what_is_nobody_is_refused),
		cmocka_unit_test(kinds_are_never_the_same),
		cmocka_unit_test(lists_have_words),
		cmocka_unit_test(words_come_in_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
