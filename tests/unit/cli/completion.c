/* Help and completion, made from the command table: bash and zsh really
 * complete with it. */
#include "fake/phxd.h"

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>

/* What bash offers after the words of `line`; "~" stands for an empty last word. */
static char *complete(struct fake_phxd *f, const char *line)
{
	static const char script[] =
		"PATH=${1%/*}:$PATH; source <(phx completion bash); shift\n"
		"words=(); for w in \"$@\"; do [ \"$w\" = \"~\" ] && w=; words+=(\"$w\"); done\n"
		"COMP_WORDS=(phx \"${words[@]}\"); COMP_CWORD=${#words[@]}; COMP_LINE=\"phx "
		"${words[*]}\"; COMP_POINT=${#COMP_LINE}\n"
		"COMP_WORDBREAKS=$' \\t\\n'; _phx; echo \"${COMPREPLY[*]}\"";
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
		{"node assign --setup=wipe:d", "--setup=wipe:discard\n"},
		{"node show n1,n", "n1,n1 n1,n2\n"},
		{"job cancel ~", "4 17\n"},
		{"job cancel 4 ~", "4 17\n"},
		{"package rm w", "web-1.0\n"},
		{"lab ~", "up down status add on kill console head exec help\n"},
		{"node power n1 ~", "on off cycle reset status\n"},
		{"node list -o ~", "table wide json yaml name tsv csv markdown\n"},
		{"--config /x role s", "show\n"},
		{"role show w", "web-server\n"},
		{"completion b", "bash\n"},
		{"image build /et", "/etc\n"},
		{"config check /etc/passw", "/etc/passwd\n"},
	};
	fake_answer(
		f, "GET /v1/nodes",
		"{'nodes':[{'name':'n1','labels':[{'key':'rack','value':'3'}]},{'name':'n2'}]}");
	fake_answer(f, "GET /v1/roles",
		    "{'roles':[{'name':'batch-compute'},{'name':'web-server'}]}");
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':4,'state':'queued'},{'id':17,'state':'running'}]}");
	fake_answer(f, "GET /v1/packages",
		    "{'packages':[{'name':'web','version':'1.0'},{'name':'db','version':'2'}]}");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_FREE char *offered = complete(f, rows[i].line);
		const char *rest = strstr(offered, rows[i].offered);
		if (!rest || rest[strlen(rows[i].offered)])
			fail_msg("%s: offered %s instead of %s", rows[i].line, offered,
				 rows[i].offered);
	}
}

/* ---- in a terminal: readline cuts words where we do not ---- */

/* What the terminal says until `until` is in it, in `all`; false when it does not come. */
static bool read_until(int fd, const char *until, char *all, size_t size)
{
	size_t n = strlen(all);
	struct pollfd p = {fd, POLLIN, 0};
	while (!strstr(all, until) && n + 1 < size && poll(&p, 1, 20000) > 0) {
		ssize_t got = read(fd, all + n, size - 1 - n);
		if (got <= 0)
			return false;
		n += (size_t)got;
		all[n] = '\0';
	}
	return strstr(all, until);
}

static pid_t start_bash(struct fake_phxd *f, int *ret_fd)
{
	char begin[1024], all[8192] = "", path[256];
	snprintf(path, sizeof(path), "%s", phx_program());
	*strrchr(path, '/') = '\0';
	pid_t pid = forkpty(ret_fd, NULL, NULL, NULL);
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("TERM", "dumb", 1);
		setenv("PS1", "$ ", 1);
		setenv("PHX_SOCKET", f->socket, 1);
		execlp("bash", "bash", "--norc", "--noprofile", "-i", NULL);
		_exit(127);
	}
	/* what is completed is printed, word by word; names are still asked of the real one */
	snprintf(
		begin, sizeof(begin),
		"bind 'set bell-style none'; PATH=%s:$PATH; source <(command phx completion bash); "
		"phx() { printf '<%%s>' \"$@\"; echo '|'; }; echo begi\"\"n\n",
		path);
	assert_int_equal(write(*ret_fd, begin, strlen(begin)), (ssize_t)strlen(begin));
	assert_true(read_until(*ret_fd, "begin", all, sizeof(all)));
	return pid;
}

static void bash_completes_in_a_terminal(void **state)
{
	struct fake_phxd *f = *state;
	static const struct {
		const char *typed, *becomes;
	} rows[] = {
		{"phx node show @al\t", "<node><show><@all>|"},
		{"phx node show @role:web\t", "<node><show><@role:web>|"},
		{"phx node show node1,nod\t2", "<node><show><node1,node2>|"},
		{"phx node show node1,@u\t", "<node><show><node1,@up>|"},
		{"phx node assign node1 web --setup=wipe:di\t",
		 "<node><assign><node1><web><--setup=wipe:discard>|"},
		{"phx node assign node1 web --setup wipe:di\t",
		 "<node><assign><node1><web><--setup><wipe:discard>|"},
		{"phx node assign node1 web --setup=no\t--wa\t",
		 "<node><assign><node1><web><--setup=noop><--wait>|"},
		{"phx job cancel 1\t", "<job><cancel><17>|"},
		{"phx package rm we\t", "<package><rm><web-1.0>|"},
		{"phx lab sta\t", "<lab><status>|"},
		{"phx node list -o js\t", "<node><list><-o><json>|"},
		{"phx re check /etc/passw\t", "<re><check></etc/passwd>|"},
	};
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'node1'},{'name':'node2'}]}");
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':4,'state':'queued'},{'id':17,'state':'running'}]}");
	fake_answer(f, "GET /v1/packages",
		    "{'packages':[{'name':'web','version':'1.0'},{'name':'db','version':'2'}]}");
	int fd;
	pid_t pid = start_bash(f, &fd);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char all[8192] = "";
		/* the line's end when what it completes has been asked for */
		assert_int_equal(write(fd, rows[i].typed, strlen(rows[i].typed)),
				 (ssize_t)strlen(rows[i].typed));
		assert_int_equal(write(fd, "\n", 1), 1);
		if (!read_until(fd, ">|", all, sizeof(all)) || !strstr(all, rows[i].becomes))
			fail_msg("%s became %s", rows[i].typed, all);
	}
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void zsh_completes(void **state)
{
	struct fake_phxd *f = *state;
	static const char script[] =
		"PATH=${1%/*}:$PATH; compdef() { :; }; compadd() { shift; print -r -- $*; }\n"
		"eval \"$(phx completion zsh)\"; words=(phx node assign n1 w); CURRENT=5; _phx";
	const char *const argv[] = {"zsh", "-f", "-c", script, "zsh", phx_program(), NULL};
	char env_socket[160];
	snprintf(env_socket, sizeof(env_socket), "PHX_SOCKET=%s", f->socket);
	const char *const env[] = {env_socket, NULL};
	fake_answer(f, "GET /v1/roles",
		    "{'roles':[{'name':'batch-compute'},{'name':'web-server'}]}");
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
		cmocka_unit_test_teardown(bash_completes_in_a_terminal, fake_clean),
		cmocka_unit_test_teardown(zsh_completes, fake_clean),
		cmocka_unit_test_teardown(help_of_all_of_a_noun_and_of_one, fake_clean),
	};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
