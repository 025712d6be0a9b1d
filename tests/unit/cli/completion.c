/* Help and completion, made from the command table: bash and zsh really
 * complete with it. */
#include "unit/cli/fake_phxd.h"

/* What bash offers after the words of `line`; "~" stands for an empty last word. */
static char *complete(struct fake_phxd *f, const char *line)
{
	static const char script[] =
		"PATH=${1%/*}:$PATH; source <(phx completion bash); shift\n"
		"words=(); for w in \"$@\"; do [ \"$w\" = \"~\" ] && w=; words+=(\"$w\"); done\n"
		"COMP_WORDS=(phx \"${words[@]}\"); COMP_CWORD=${#words[@]}; _phx; echo \"${COMPREPLY[*]}\"";
	char copy[256], env_socket[160];
	const char *argv[32] = {"bash", "--norc", "-c", script, "bash", phx_program()};
	unsigned n = 6;
	snprintf(copy, sizeof(copy), "%s", line);
	snprintf(env_socket, sizeof(env_socket), "PHX_SOCKET=%s", f->socket);
	char *save = NULL;
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	const char *const env[] = {env_socket, NULL};
	struct phx_said s = run_argv(argv, env);
	if (s.errout[0])
		fail_msg("%s: %s", line, s.errout);
	free(s.errout);
	return s.out;
}

static void bash_completes(void **state)
{
	struct fake_phxd *f = *state;
	static const struct {
		const char *line, *offered;
	} rows[] = {
		{"no", "node\n"},
		{"node as", "assign\n"},
		{"node assign ~", "n1 n2 @all @up @missing @role: @pool: @state:\n"},
		{"node assign n1 ~", "batch-compute web-server\n"},
		{"node assign n1 web-server ~", "\n"},
		{"node assign n1 web-server --se", "--server --selector --setup\n"},
		{"node assign -l ra", "rack=3\n"},
		{"node label n1 ~", "rack=3\n"},
		{"inventory --groups ~", "map all list reverse\n"},
		{"node assign --setup wipe:d", "wipe:discard\n"},
		{"node power n1 ~", "on off cycle reset status\n"},
		{"node list -o ~", "table wide json yaml name tsv csv markdown\n"},
		{"--config /x role s", "show\n"},
		{"role show w", "web-server\n"},
		{"job cancel 1 ~", "\n"},
		{"completion b", "bash\n"},
		{"image build /et", "/etc\n"},
		{"config check /etc/passw", "/etc/passwd\n"},
	};
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1','labels':[{'key':'rack','value':'3'}]},{'name':'n2'}]}");
	fake_answer(f, "GET /v1/roles", "{'roles':[{'name':'batch-compute'},{'name':'web-server'}]}");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_FREE char *offered = complete(f, rows[i].line);
		const char *rest = strstr(offered, rows[i].offered);
		if (!rest || rest[strlen(rows[i].offered)])
			fail_msg("%s: offered %s instead of %s", rows[i].line, offered, rows[i].offered);
	}
}

static void zsh_completes(void **state)
{
	struct fake_phxd *f = *state;
	static const char script[] = "PATH=${1%/*}:$PATH; compdef() { :; }; compadd() { shift; print -r -- $*; }\n"
				     "eval \"$(phx completion zsh)\"; words=(phx node assign n1 w); CURRENT=5; _phx";
	const char *const argv[] = {"zsh", "-f", "-c", script, "zsh", phx_program(), NULL};
	char env_socket[160];
	snprintf(env_socket, sizeof(env_socket), "PHX_SOCKET=%s", f->socket);
	const char *const env[] = {env_socket, NULL};
	fake_answer(f, "GET /v1/roles", "{'roles':[{'name':'batch-compute'},{'name':'web-server'}]}");
	PHX_SAID s = run_argv(argv, env);
	assert_string_equal(s.errout, "");
	assert_string_equal(s.out, "batch-compute web-server\n");
}

static void help_of_all_of_a_noun_and_of_one(void **state)
{
	struct fake_phxd *f = *state;
	PHX_SAID all = phx(f, "help");
	assert_int_equal(all.status, 0);
	assert_has(all.out, "node assign NODES ROLE");
	assert_has(all.out, "--server URL");
	PHX_SAID noun = phx(f, "node --help");
	assert_int_equal(noun.status, 0);
	assert_has(noun.out, "node assign NODES ROLE");
	assert_lacks(noun.out, "role list");
	PHX_SAID one = phx(f, "node assign --help");
	assert_has(one.out, "usage: phx node assign NODES ROLE [options]\n");
	assert_has(one.out, "--setup SETUP");
	assert_lacks(one.out, "--mac");
	PHX_SAID same = phx(f, "help node assign");
	assert_string_equal(same.out, one.out);
	PHX_SAID unknown = phx(f, "help frobnicate");
	assert_int_equal(unknown.status, 64);
	PHX_SAID none = phx(f, "");
	assert_int_equal(none.status, 64);
	assert_string_equal(none.out, "");
	assert_has(none.errout, "usage: phx");
	PHX_SAID version = phx(f, "--version");
	assert_has(version.out, "phx 0.");
	assert_string_equal(f->log, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(bash_completes, fake_clean),
		cmocka_unit_test_teardown(zsh_completes, fake_clean),
		cmocka_unit_test_teardown(help_of_all_of_a_noun_and_of_one, fake_clean),
	};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
