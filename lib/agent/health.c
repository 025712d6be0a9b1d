/* Health checks: see health.h. A timer has a worker check at the role's interval; the
 * step `health` calls health_check() itself. Never restarts a service. */
#include "agent/health.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"
#include "http/http.h"
#include "agent/config.h"

enum { DEFAULT_TIMEOUT_S = 5, DEFAULT_INTERVAL_S = 5, DEFAULT_FAILURES = 3 };

static uint32_t timeout_ms(const struct phx_role *role)
{
	return (role->health.timeout_s ? role->health.timeout_s : DEFAULT_TIMEOUT_S) * 1000;
}

/* ---- the kinds ---- */

static int check_none(const struct phx_role *role, const char *pkg_root, struct phx_err *err)
{
	(void)role;
	(void)pkg_root;
	(void)err;
	return 0;
}

static int check_http(const struct phx_role *role, const char *pkg_root, struct phx_err *err)
{
	const char *url = role->health.target;
	const char *host = strstr(url, "://");
	(void)pkg_root;
	if (!host)
		return phx_err_set(err, -EINVAL, "%s: not a URL", url);
	const char *path = strchr(host + 3, '/');
	PHX_AUTO_FREE char *base = path ? strndup(url, (size_t)(path - url)) : strdup(url);
	struct phx_http_client_config config = {.base_url = base,
						.connect_timeout_ms = timeout_ms(role)};
	struct phx_http_client *client = NULL;
	struct phx_http_response response = {0};
	if (!base)
		return -ENOMEM;
	int r = phx_http_client_new(&config, &client, err);
	if (r == 0)
		r = phx_http_call(client, "GET", path ? path : "/", NULL, timeout_ms(role),
				  &response, err);
	if (r == 0 && (response.status < 200 || response.status > 299))
		r = phx_err_set(err, -EIO, "%s: status %ld", url, response.status);
	phx_http_response_fini(&response);
	phx_http_client_free(client);
	return r;
}

static int connect_within(const struct addrinfo *a, uint32_t ms)
{
	PHX_AUTO_CLOSE int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int failure = 0;
	socklen_t n = sizeof(failure);
	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	struct pollfd p = {fd, POLLOUT, 0};
	if (poll(&p, 1, (int)ms) <= 0)
		return -ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &n);
	return -failure;
}

/* `target` is "ADDRESS:PORT", with a numeric address. */
static int connect_to(const char *target, uint32_t ms, struct phx_err *err)
{
	const char *colon = strrchr(target, ':');
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV},
			*found;
	if (!colon)
		return phx_err_set(err, -EINVAL, "%s: expected ADDRESS:PORT", target);
	PHX_AUTO_FREE char *host = strndup(target, (size_t)(colon - target));
	if (!host)
		return -ENOMEM;
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return phx_err_set(err, -EINVAL, "%s: expected ADDRESS:PORT", target);
	int r = connect_within(found, ms);
	freeaddrinfo(found);
	return r < 0 ? phx_err_set(err, r, "%s: %s", target, strerror(-r)) : 0;
}

static int check_tcp(const struct phx_role *role, const char *pkg_root, struct phx_err *err)
{
	(void)pkg_root;
	return connect_to(role->health.target, timeout_ms(role), err);
}

/* A target with a name, an IPv6 address or no port counts as listening: only the check itself
 * resolves it. */
static int listens_http(const struct phx_role *role, struct phx_err *err)
{
	const char *host = strstr(role->health.target, "://");
	size_t n = host ? strcspn(host + 3, "/") : 0;
	PHX_AUTO_FREE char *target = n ? strndup(host + 3, n) : NULL;
	struct phx_err why = {0};
	int r = target ? connect_to(target, timeout_ms(role), &why) : 0;
	return r == -EINVAL ? 0 : r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
}

int health_listens(const struct phx_role *role, struct phx_err *err)
{
	if (role->health.kind == PHX_HEALTH_HTTP)
		return listens_http(role, err);
	return role->health.kind == PHX_HEALTH_TCP ? check_tcp(role, NULL, err) : 0;
}

/* The program's path in the first package of the role that has it; else the word itself. */
static char *find_program(const struct phx_role *role, const char *pkg_root, const char *word)
{
	if (word[0] != '/')
		PHX_LIST_EACH(struct phx_package_ref, p, &role->packages) {
			char *path = phx_path("%s/%s/%s/%s", pkg_root, p->name, p->version, word);
			if (path && access(path, X_OK) == 0)
				return path;
			free(path);
		}
	return strdup(word);
}

static int check_exec(const struct phx_role *role, const char *pkg_root, struct phx_err *err)
{
	const struct phx_list *words = &role->health.argv;
	PHX_AUTO_FREE const char **argv = calloc(words->n + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	if (!words->n)
		/* cppcheck-suppress memleak ; freed by its attribute */
		return phx_err_set(err, -EINVAL, "health check without a program");
	for (uint32_t i = 0; i < words->n; i++)
		argv[i] = PHX_LIST_AT(words, struct phx_word, i)->text;
	PHX_AUTO_FREE char *program = find_program(role, pkg_root, argv[0]);
	if (!program)
		return -ENOMEM;
	argv[0] = program;
	struct phx_run run = {.argv = argv, .timeout_ms = timeout_ms(role), .output_max = 4096};
	return phx_run_check(&run, NULL, err);
}

int health_check(const struct phx_role *role, const char *pkg_root, struct phx_err *err)
{
	static int (*const kinds[])(const struct phx_role *, const char *, struct phx_err *) = {
		[PHX_HEALTH_NONE] = check_none,
		[PHX_HEALTH_HTTP] = check_http,
		[PHX_HEALTH_TCP] = check_tcp,
		[PHX_HEALTH_EXEC] = check_exec,
	};
	unsigned kind = (unsigned)role->health.kind;
	if (kind >= PHX_ARRAY_SIZE(kinds))
		return phx_err_set(err, -EINVAL, "health check of unknown kind %u", kind);
	return kinds[kind](role, pkg_root, err);
}

/* ---- the verdict over time ---- */

struct health {
	struct loop *loop;
	sd_event_source *due; /* the next check; not armed while one is under way */
	char pkg_root[AGENT_PATH_MAX];
	struct phx_role role;
	bool watching, checking, ok;
	uint32_t failed;     /* in a row */
	uint64_t generation; /* of `role` */
	char text[160];
};

static void count_result(struct health *h, int r, const char *text)
{
	uint32_t limit = h->role.health.failures ? h->role.health.failures : DEFAULT_FAILURES;
	h->failed = r == 0 ? 0 : h->failed + 1;
	if (r == 0)
		h->ok = true;
	else if (h->failed >= limit)
		h->ok = false;
	snprintf(h->text, sizeof(h->text), "%s", r == 0 ? "" : text);
}

/* Sets when the next check is due: at once if it is of another role than the last. */
static void arm(struct health *h, bool same_role)
{
	uint32_t interval_s =
		h->role.health.interval_s ? h->role.health.interval_s : DEFAULT_INTERVAL_S;
	int64_t now_ms = phx_clock_ms();
	loop_arm(h->loop, h->due,
		 !h->watching        ? INT64_MAX
			 : same_role ? now_ms + (int64_t)interval_s * 1000
				     : now_ms);
}

/* In a worker. */
static void check_once(void *arg)
{
	struct health *h = arg;
	struct phx_role copy = {0};
	struct phx_err err = {0};
	loop_hold(h->loop);
	uint64_t generation = h->generation;
	int copied = phx_record_copy(&phx_role_record, &copy, &h->role);
	loop_release(h->loop);
	int r = copied == 0 ? health_check(&copy, h->pkg_root, &err) : 0;
	phx_record_fini(&phx_role_record, &copy);
	loop_hold(h->loop);
	if (copied == 0 && generation == h->generation)
		count_result(h, r, err.text);
	h->checking = false;
	arm(h, generation == h->generation);
	loop_news(h->loop);
	loop_release(h->loop);
}

static void on_due(void *arg)
{
	struct health *h = arg;
	h->checking = h->watching && loop_work(h->loop, check_once, h) == 0;
	if (!h->checking)
		arm(h, true);
}

int health_new(struct loop *loop, const char *pkg_root, struct health **ret, struct phx_err *err)
{
	struct health *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->loop = loop;
	h->ok = true;
	int r = PHX_STR_SET(h->pkg_root, pkg_root);
	r = r ? r : loop_timer(loop, on_due, h, &h->due);
	if (r < 0) {
		health_free(h);
		return phx_err_set(err, r, "health checks: %s", strerror(-r));
	}
	*ret = h;
	return 0;
}

void health_free(struct health *h)
{
	if (!h)
		return;
	loop_hold(h->loop);
	loop_forget(h->loop, &h->due);
	while (h->checking)
		loop_wait(h->loop, INT64_MAX);
	loop_release(h->loop);
	phx_record_fini(&phx_role_record, &h->role);
	free(h);
}

int health_watch(struct health *h, const struct phx_role *role, struct phx_err *err)
{
	struct phx_role copy = {0};
	if (role && phx_record_copy(&phx_role_record, &copy, role) < 0)
		return phx_err_set(err, -ENOMEM, "out of memory");
	LOOP_HELD(h->loop);
	phx_record_fini(&phx_role_record, &h->role);
	h->role = copy;
	h->watching = role && role->health.kind != PHX_HEALTH_NONE;
	h->ok = !h->watching;
	h->failed = 0;
	h->generation++;
	snprintf(h->text, sizeof(h->text), "%s", h->watching ? "not checked yet" : "");
	if (!h->checking)
		arm(h, false);
	return 0;
}

bool health_ok(struct health *h, char *ret_text, size_t ret_size)
{
	LOOP_HELD(h->loop);
	bool ok = h->ok;
	snprintf(ret_text, ret_size, "%s", h->text);
	return ok;
}

void health_passed(struct health *h)
{
	LOOP_HELD(h->loop);
	count_result(h, 0, "");
}
