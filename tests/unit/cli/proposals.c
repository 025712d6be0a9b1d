/* Each command of phx that phx node why proposes is one: phx takes its words. The daemon is a fake,
 * which knows nothing; phx is the real program. */
#include <string.h>

#include "fake/phxd.h"

static const char *const acts[] = {
#define WHY(name, phase, wrong, proven, text, act) act,
#include "why/why.def"
#undef WHY
};

/* Words with which a sentence goes on behind a command. */
static bool goes_on(const char *word)
{
	static const char *const words[] = {"tells", "says",  "shows", "sets", "has",  "makes",
					    "lets",  "lists", "if",    "and",  "then", "or"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

/* The command that begins at `at`, without "phx", for node n1. */
static void take_command(const char *at, char *ret, size_t size)
{
	char word[128];
	bool ends = false;
	size_t n_ret = 0;
	ret[0] = '\0';
	for (at += strlen("phx "); *at && !ends; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		at += n;
		for (n = strlen(word); n && strchr(",;:)", word[n - 1]); n--)
			ends = true;
		word[n] = '\0';
		if (goes_on(word))
			break;
		n_ret += (size_t)snprintf(ret + n_ret, size - n_ret, "%s%s", n_ret ? " " : "",
					  strcmp(word, "@NODE@") ? word : "n1");
	}
}

static void each_proposed_command_is_one(void **state)
{
	static const char *const mistakes[] = {"there is no command", "word too many", "is missing",
					       "there is no option",  "expected",      "usage:",
					       "there is no key"};
	struct fake_phxd *f = *state;
	char command[256];
	size_t n = 0;
	fake_answer(
		f, "GET /v1/config",
		"{'config':[{'key':'http_port','value':'80'},{'key':'https_port','value':'443'}]}");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(acts); i++)
		for (const char *at = acts[i]; (at = strstr(at, "phx ")); at++) {
			take_command(at, command, sizeof(command));
			PHX_SAID s = phx(f, command);
			for (size_t k = 0; k < PHX_ARRAY_SIZE(mistakes); k++)
				if (strstr(s.errout, mistakes[k]))
					fail_msg("phx %s: %s", command, s.errout);
			n++;
		}
	assert_in_range(n, 30, 100);
}

#define TEST(name) cmocka_unit_test_teardown(name, fake_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(each_proposed_command_is_one)};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
