/* How the head asks the launcher (cmd/phxd/launch.c): each function asks its own question with all
 * that belongs to it, what is answered is of the size that it must have or is not believed, a
 * descriptor that comes is the caller's or closed, and without a launcher nothing is had. The
 * socket between the two is real; the launcher is a fake that answers what the test wants. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/json.h"
#include "base/tree.h"
#include "phxd/launch.c" /* parts of a program, not of the library */
#include "phxd/launcher_networks.c"

static struct launch *l;
static struct phx_err err;
static pthread_t thread;
static int theirs;

/* ---- the launcher ---- */

/* What it was asked last. */
static struct {
	unsigned n;
	uint32_t op;
	uint64_t number;
	struct phx_buf body;
} asked;

/* What it answers. */
static struct {
	int result;
	uint64_t number;
	const void *body;
	size_t n;
	bool fd;
	bool networks; /* as the real one does */
} fake;
static struct phx_config cfg;
static struct launcher launcher = {.cfg = &cfg};

static int answers(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		   struct phx_err *e)
{
	(void)arg;
	asked.n++;
	asked.op = q->op;
	asked.number = q->number;
	phx_buf_fini(&asked.body);
	asked.body = (struct phx_buf){0};
	phx_buf_add(&asked.body, q->body, q->n);
	if (fake.networks)
		return op_networks(&launcher, q, ret, e);
	if (fake.result < 0)
		return phx_err_set(e, fake.result, "the launcher says no");
	ret->number = fake.number;
	phx_buf_add(&ret->body, fake.body, fake.n);
	ret->fd = fake.fd ? open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : 0;
	return 0;
}

static void *serve(void *arg)
{
	const struct phx_apart_server server = {.body_max = LAUNCH_BODY_MAX, .answer = answers};
	(void)arg;
	phx_apart_serve(theirs, &server);
	close(theirs);
	return NULL;
}

static unsigned n_open;

static unsigned count_open(void)
{
	DIR *at = opendir("/proc/self/fd");
	unsigned n = 0;
	while (readdir(at))
		n++;
	closedir(at);
	return n;
}

static int setup(void **state)
{
	int ends[2];
	(void)state;
	memset(&fake, 0, sizeof(fake));
	memset(&asked, 0, sizeof(asked));
	phx_err_clear(&err);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	theirs = ends[1];
	if (launch_new(ends[0], &l, &err) < 0)
		return -1;
	close(ends[0]); /* /dev/null by now */
	n_open = count_open();
	return pthread_create(&thread, NULL, serve, NULL);
}

static void end_launcher(void)
{
	if (!thread)
		return;
	shutdown(theirs, SHUT_RDWR);
	pthread_join(thread, NULL);
	thread = 0;
}

/* No descriptor stays behind, whatever was answered. */
static int teardown(void **state)
{
	(void)state;
	end_launcher();
	assert_int_equal(count_open(), n_open - 1);
	launch_free(l);
	phx_buf_fini(&asked.body);
	return 0;
}

static void assert_asked(enum launch_op op, uint64_t number, const void *body, size_t n)
{
	assert_int_equal(asked.n, 1);
	assert_int_equal(asked.op, op);
	assert_int_equal(asked.number, number);
	assert_int_equal(asked.body.n, n);
	if (n)
		assert_memory_equal(asked.body.data, body, n);
	asked.n = 0;
}

static void assert_is_directory(int fd)
{
	struct stat st;
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

/* ---- the socket ---- */

/* Whoever starts phxd with --head by hand must not have it speak to his terminal. */
static void what_is_no_launcher_is_not_asked(void **state)
{
	int fds[4];
	struct launch *none = NULL;
	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fds[2] = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	fds[3] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(fds); i++) {
		struct stat before, after;
		phx_err_clear(&err);
		assert_int_equal(fstat(fds[i], &before), 0);
		assert_int_equal(launch_new(fds[i], &none, &err), -ENOTSOCK);
		assert_non_null(strstr(err.text, "--head"));
		assert_null(none);
		assert_int_equal(fstat(fds[i], &after), 0);
		assert_int_equal(before.st_ino, after.st_ino);
		close(fds[i]);
	}
	assert_int_equal(launch_new(-1, &none, &err), -ENOTSOCK);
	assert_null(none);
}

/* What reads its standard input, and what inherits it, would have a part of the head's rights. */
static void the_socket_does_not_stay_where_it_was(void **state)
{
	struct launch *other = NULL;
	struct stat st;
	int ends[2], domain, own = -1;
	socklen_t n = sizeof(domain);
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(launch_new(ends[0], &other, &err), 0);
	assert_int_equal(fstat(ends[0], &st), 0);
	assert_true(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
	for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
		if (fd != ends[1] && fd != theirs &&
		    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0) {
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
			own = fd;
		}
	assert_true(own > STDERR_FILENO);
	launch_free(other);
	char byte;
	assert_int_equal(read(ends[1], &byte, 1), 0); /* it was closed with it */
	close(ends[0]);
	close(ends[1]);
}

/* It is the end of the head, too: until then nobody waits. */
static void without_a_launcher_nothing_is_had(void **state)
{
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	struct launch_re re = {.there = true};
	int fd = -7;
	pid_t pid = -7;
	(void)state;
	fake.number = 1;
	assert_true(launch_clock_is_kept(l));
	end_launcher();
	assert_false(launch_clock_is_kept(l));
	n_open--; /* it has hung up */
	assert_int_equal(launch_vault(l, &fd, &pid, &err), -EPIPE);
	assert_non_null(strstr(err.text, "phxd's launcher has ended"));
	assert_int_equal(fd, -7);
	assert_int_equal(pid, -7);
	assert_int_equal(launch_sweep(l, NULL), -EPIPE);
	assert_int_equal(launch_re_look(l, "hpc", &re, NULL), -EPIPE);
	assert_true(re.there);
	assert_int_equal(launch_re_list(l, &list), -EPIPE);
	assert_int_equal(launch_children(l, &list), -EPIPE);
	assert_int_equal(list.n, 0);
	launch_say(l, LAUNCH_READY);
}

/* ---- questions ---- */

static void each_asks_its_own_question(void **state)
{
	(void)state;
	assert_int_equal(launch_sweep(l, &err), 0);
	assert_asked(LAUNCH_sweep, 0, NULL, 0);
	assert_int_equal(launch_boot(l, 7, &err), 0);
	assert_asked(LAUNCH_boot, 7, NULL, 0);
	assert_int_equal(launch_hosts(l, 8, false, &err), 0);
	assert_asked(LAUNCH_hosts, 8, NULL, 0);
	assert_int_equal(launch_hosts(l, 9, true, &err), 0);
	assert_asked(LAUNCH_hosts_again, 9, NULL, 0);
	assert_int_equal(launch_anchor(l, 2, "a line", &err), 0);
	assert_asked(LAUNCH_anchor, 2, "a line", 6);
	assert_int_equal(launch_re_remove(l, "hpc", &err), 0);
	assert_asked(LAUNCH_re_remove, 0, "hpc", 3);
	for (int i = LAUNCH_READY; i <= LAUNCH_ALIVE; i++) {
		launch_say(l, (enum launch_saying)i);
		assert_asked(LAUNCH_say, (uint64_t)i, NULL, 0);
	}
}

static void what_is_to_be_made_goes_along_whole(void **state)
{
	const struct re_marker m = {.name = "hpc", .created_ms = 17, .site = "site"};
	struct launch_re_make made = {.marker = m, .login = "alice"};
	char *to = NULL;
	(void)state;
	assert_int_equal(launch_re_make(l, &m, "alice", &err), 0);
	assert_asked(LAUNCH_re_make, 0, &made, sizeof(made));
	assert_int_equal(launch_re_set_aside(l, &m, &to, &err), 0);
	assert_asked(LAUNCH_re_set_aside, 0, &m, sizeof(m));
	assert_null(to); /* there was no data */
	fake.body = "/lost+found/hpc";
	fake.n = 15;
	assert_int_equal(launch_re_set_aside(l, &m, &to, &err), 0);
	assert_string_equal(to, "/lost+found/hpc");
	free(to);
}

/* The directory would be the head's user's. */
static void a_login_that_is_too_long_makes_nothing(void **state)
{
	const struct re_marker m = {.name = "hpc", .created_ms = 17, .site = "site"};
	struct launch_re_make made = {.marker = m};
	char login[PHX_NAME_MAX + 1];
	(void)state;
	memset(login, 'a', sizeof(login));
	login[PHX_NAME_MAX] = '\0';
	assert_int_equal(launch_re_make(l, &m, login, &err), -EINVAL);
	assert_int_equal(asked.n, 0);
	assert_non_null(strstr(err.text, "RE hpc: the login 'aaaa"));
	assert_non_null(strstr(err.text, "it may have 63 bytes"));
	login[PHX_NAME_MAX - 1] = '\0';
	PHX_STR_SET(made.login, login);
	assert_int_equal(launch_re_make(l, &m, login, &err), 0);
	assert_asked(LAUNCH_re_make, 0, &made, sizeof(made));
	memset(made.login, 0, sizeof(made.login)); /* nobody is no mistake */
	assert_int_equal(launch_re_make(l, &m, "", &err), 0);
	assert_asked(LAUNCH_re_make, 0, &made, sizeof(made));
}

static void a_refusal_comes_with_its_reason(void **state)
{
	struct launch_re re = {.marked = true};
	struct phx_list list = {.n = 3};
	char *to = NULL;
	int fd = -7;
	const struct re_marker m = {.name = "hpc"};
	(void)state;
	fake.result = -EBUSY;
	fake.fd = true;
	assert_int_equal(launch_door(l, &fd, &err), -EBUSY);
	assert_string_equal(err.text, "the launcher says no");
	assert_int_equal(launch_re_look(l, "hpc", &re, NULL), -EBUSY);
	assert_int_equal(launch_re_make(l, &m, "", NULL), -EBUSY);
	assert_int_equal(launch_re_set_aside(l, &m, &to, NULL), -EBUSY);
	assert_int_equal(launch_re_users(l, "hpc", &list), -EBUSY);
	/* and nothing else */
	assert_int_equal(fd, -7);
	assert_true(re.marked);
	assert_null(to);
	assert_int_equal(list.n, 3);
}

/* What is not known to be synchronised is not. */
static void a_clock_is_kept_only_if_the_launcher_says_so(void **state)
{
	static const uint64_t numbers[] = {0, 2, UINT64_MAX};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(numbers); i++) {
		fake.number = numbers[i];
		assert_false(launch_clock_is_kept(l));
	}
	fake.number = 1;
	assert_true(launch_clock_is_kept(l));
	fake.result = -EPERM;
	assert_false(launch_clock_is_kept(l));
}

/* ---- descriptors ---- */

static int ask_for_fd(unsigned which, int *ret_fd, pid_t *ret_pid)
{
	switch (which) {
	case 0:
		return launch_vault(l, ret_fd, ret_pid, &err);
	case 1:
		return launch_hands(l, ret_fd, ret_pid, &err);
	case 2:
		return launch_listen(l, PHX_HTTP_TLS, ret_fd, &err);
	case 3:
		return launch_runner(l, ret_fd, &err);
	case 4:
		return launch_programs(l, ret_fd, &err);
	case 5:
		return launch_webhooks(l, ret_fd, &err);
	case 6:
		return launch_door(l, ret_fd, &err);
	}
	return launch_re_watch(l, &(struct re_place_whose){.re = "hpc", .uid = 9}, ret_fd, &err);
}

static void what_comes_is_the_callers_and_what_does_not_is_an_error(void **state)
{
	static const struct {
		enum launch_op op;
		uint64_t number;
	} questions[] = {{LAUNCH_vault, 0},  {LAUNCH_hands, 0},    {LAUNCH_listen, PHX_HTTP_TLS},
			 {LAUNCH_runner, 0}, {LAUNCH_programs, 0}, {LAUNCH_webhooks, 0},
			 {LAUNCH_door, 0},   {LAUNCH_re_watch, 0}};
	const struct re_place_whose w = {.re = "hpc", .uid = 9};
	(void)state;
	fake.number = 4711;
	for (unsigned i = 0; i < PHX_ARRAY_SIZE(questions); i++) {
		bool watch = questions[i].op == LAUNCH_re_watch;
		int fd = -7;
		pid_t pid = -7;
		fake.fd = true;
		assert_int_equal(ask_for_fd(i, &fd, &pid), 0);
		assert_asked(questions[i].op, questions[i].number, watch ? &w : NULL,
			     watch ? sizeof(w) : 0);
		assert_is_directory(fd);
		assert_int_equal(pid, i < 2 ? 4711 : -7);
		fake.fd = false;
		fd = pid = -7;
		phx_err_clear(&err);
		assert_int_equal(ask_for_fd(i, &fd, &pid), -EPROTO);
		assert_true(err.text[0]);
		assert_int_equal(fd, -7);
		assert_int_equal(pid, -7);
		asked.n = 0;
	}
}

static void a_directory_comes_with_who_owns_it(void **state)
{
	const struct re_place_whose w = {.re = "hpc", .user = "alice", .created_ms = 5};
	const struct launch_re_opened sent = {.uid = 1000, .gid = 1001, .helper = true};
	struct launch_re_opened opened = {.uid = 7};
	(void)state;
	fake.fd = true;
	fake.body = &sent;
	for (size_t n = 0; n < 2; n++) {
		fake.n = n * (sizeof(sent) - 1);
		assert_int_equal(launch_re_open(l, &w, &opened, &err), -EPROTO);
		assert_asked(LAUNCH_re_open, 0, &w, sizeof(w));
		assert_int_equal(opened.uid, 7);
	}
	fake.n = sizeof(sent);
	fake.fd = false;
	assert_int_equal(launch_re_open(l, &w, &opened, &err), -EPROTO);
	assert_int_equal(opened.uid, 7);
	fake.fd = true;
	assert_int_equal(launch_re_open(l, &w, &opened, &err), 0);
	assert_int_equal(opened.uid, 1000);
	assert_int_equal(opened.gid, 1001);
	assert_true(opened.helper);
	assert_is_directory(opened.fd);
}

/* ---- records ---- */

static void what_is_looked_at_is_of_one_size(void **state)
{
	static const struct launch_re sent[2] = {
		{.there = true, .marked = true, .marker = {.name = "hpc", .created_ms = 3}}};
	static const size_t sizes[] = {0, 1, sizeof(*sent) - 1, sizeof(*sent) + 1, sizeof(sent)};
	struct launch_re got = {.marker.created_ms = 8};
	(void)state;
	fake.body = sent;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(sizes); i++) {
		fake.n = sizes[i];
		assert_int_equal(launch_re_look(l, "hpc", &got, &err), -EPROTO);
		assert_int_equal(got.marker.created_ms, 8);
		assert_false(got.there);
	}
	asked.n = 0;
	fake.n = sizeof(*sent);
	assert_int_equal(launch_re_look(l, "hpc", &got, &err), 0);
	assert_asked(LAUNCH_re_look, 0, "hpc", 3);
	assert_true(got.there && got.marked);
	assert_string_equal(got.marker.name, "hpc");
	assert_int_equal(got.marker.created_ms, 3);
}

static void lists_have_whole_records_alone(void **state)
{
	static const struct phx_word words[3] = {{"alice"}, {"bob"}, {"carol"}};
	static const struct re_marker markers[2] = {{.name = "hpc"}, {.name = "web"}};
	static const struct phx_child_status children[1] = {{.name = "dnsmasq", .pid = 9}};
	struct phx_list list = {0};
	(void)state;
	fake.body = words;
	fake.n = sizeof(words) - 1; /* the last is cut off */
	assert_int_equal(launch_re_users(l, "hpc", &list), 0);
	assert_asked(LAUNCH_re_users, 0, "hpc", 3);
	assert_int_equal(list.n, 2);
	assert_string_equal(PHX_LIST_AT(&list, struct phx_word, 1)->text, "bob");
	phx_list_fini(&list);
	fake.body = markers;
	fake.n = sizeof(markers);
	assert_int_equal(launch_re_list(l, &list), 0);
	assert_asked(LAUNCH_re_list, 0, NULL, 0);
	assert_int_equal(list.n, 2);
	assert_string_equal(PHX_LIST_AT(&list, struct re_marker, 1)->name, "web");
	phx_list_fini(&list);
	fake.body = children;
	fake.n = sizeof(children);
	assert_int_equal(launch_children(l, &list), 0);
	assert_asked(LAUNCH_children, 0, NULL, 0);
	assert_int_equal(PHX_LIST_AT(&list, struct phx_child_status, 0)->pid, 9);
	phx_list_fini(&list);
	fake.n = 0;
	assert_int_equal(launch_children(l, &list), 0);
	assert_int_equal(list.n, 0);
}

/* ---- networks, by the launcher itself ---- */

static const struct phx_site_network sent_network = {.name = "far",
						     .subnet = "10.2.0.0/16",
						     .gateway = "10.2.0.1",
						     .mtu = 9000,
						     .domain = "far.example.org",
						     .range = {"10.2.9.0", "10.2.9.250"},
						     .boot = true,
						     .interface = "v1",
						     .head = "10.2.0.2"};

static char dir[64];

static void give_address(void)
{
	strcpy(dir, "/tmp/phx-launch.XXXXXX");
	assert_non_null(mkdtemp(dir));
	PHX_STR_SET(cfg.run_dir, dir);
	PHX_STR_SET(cfg.dnsmasq, "/bin/true");
	PHX_STR_SET(cfg.address, "10.9.0.1");
	PHX_STR_SET(cfg.interface, "v0");
	cfg.prefix = 24;
	if (!cfg.server_names.n)
		PHX_STR_SET(((struct phx_word *)phx_list_push(&cfg.server_names,
							      sizeof(struct phx_word)))
				    ->text,
			    "10.2.0.2");
	PHX_STR_SET(cfg.listen, "0.0.0.0");
	cfg.dhcp_mode = PHX_DHCP_SERVE;
	fake.networks = true;
}

/* All of it but what concerns nodes alone. */
static void networks_arrive_as_they_were_sent(void **state)
{
	struct phx_site site = {.domain = "example.org", .serve_names = true, .forward_dns = true};
	struct phx_site_network *n = phx_list_push(&site.networks, sizeof(*n));
	(void)state;
	give_address();
	*n = sent_network;
	for (int i = 0; i < 8; i++) {
		struct phx_word *w = phx_list_push(&n->dns, sizeof(*w));
		snprintf(w->text, sizeof(w->text), "10.2.0.%d", 10 + i);
	}
	if (launch_networks_try(l, &site, 5, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(launcher.networks.n, 0);
	assert_int_equal(launch_networks(l, &site, 5, &err), 0);
	assert_int_equal(asked.number, 5);
	assert_int_equal(launcher.networks.n, 1);
	const struct phx_site_network *got =
		PHX_LIST_AT(&launcher.networks, struct phx_site_network, 0);
	assert_string_equal(launcher.names.domain, "example.org");
	assert_true(launcher.names.serve_names && launcher.names.forward_dns);
	PHX_STR_SET(n->place, got->place); /* for complaints alone */
	PHX_AUTO_JSON json_t *sent = phx_json_from_record(&phx_site_network_record, n);
	PHX_AUTO_JSON json_t *arrived = phx_json_from_record(&phx_site_network_record, got);
	assert_true(json_equal(sent, arrived));
	/* without any network again */
	phx_record_fini(&phx_site_record, &site);
	assert_int_equal(launch_networks(l, &site, 5, &err), 0);
	assert_int_equal(launcher.networks.n, 0);
	assert_false(launcher.names.serve_names);
	assert_int_equal(phx_dir_remove(dir, NULL), 0);
}

static void what_the_launcher_thinks_of_networks_is_told(void **state)
{
	struct phx_site site = {0};
	struct phx_site_network *n = phx_list_push(&site.networks, sizeof(*n));
	(void)state;
	give_address();
	*n = sent_network;
	PHX_STR_SET(n->subnet, "10.2.0.0/99");
	assert_int_equal(launch_networks_try(l, &site, 5, &err), -EINVAL);
	assert_non_null(strstr(err.text, "networks.conf"));
	assert_int_equal(launch_networks(l, &site, 5, &err), -EINVAL);
	assert_int_equal(launcher.networks.n, 0);
	phx_record_fini(&phx_site_record, &site);
	assert_int_equal(phx_dir_remove(dir, NULL), 0);
}

/* ---- where it listens ---- */

static void listeners_are_where_the_configuration_says(void **state)
{
	struct phx_config of = {.https_port = 8443, .http_port = 8080};
	(void)state;
	PHX_STR_SET(of.socket, "/run/phxd.sock");
	PHX_STR_SET(of.address, "10.9.0.1");
	struct phx_http_server_config got = launch_listeners(&of);
	assert_string_equal(got.unix_path, "/run/phxd.sock");
	assert_string_equal(got.tls_address, "10.9.0.1");
	assert_string_equal(got.plain_address, "10.9.0.1");
	assert_int_equal(got.tls_port, 8443);
	assert_int_equal(got.plain_port, 8080);
	assert_true(got.unix_gid == (gid_t)-1); /* nobody's group */
	PHX_STR_SET(of.listen, "0.0.0.0");
	got = launch_listeners(&of);
	assert_string_equal(got.tls_address, "0.0.0.0");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_no_launcher_is_not_asked),
		TEST(the_socket_does_not_stay_where_it_was),
		TEST(without_a_launcher_nothing_is_had),
		TEST(each_asks_its_own_question),
		TEST(what_is_to_be_made_goes_along_whole),
		TEST(a_login_that_is_too_long_makes_nothing),
		TEST(a_refusal_comes_with_its_reason),
		TEST(a_clock_is_kept_only_if_the_launcher_says_so),
		TEST(what_comes_is_the_callers_and_what_does_not_is_an_error),
		TEST(a_directory_comes_with_who_owns_it),
		TEST(what_is_looked_at_is_of_one_size),
		TEST(lists_have_whole_records_alone),
		TEST(networks_arrive_as_they_were_sent),
		TEST(what_the_launcher_thinks_of_networks_is_told),
		cmocka_unit_test(listeners_are_where_the_configuration_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
