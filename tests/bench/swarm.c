/* swarm: many agents on one head. N made-up machines enrol with a real phxd as any agent does, then
 * each keeps a TLS connection with its own certificate and beats every 2 s (a poll of 2 s that phxd
 * holds); meanwhile phxd's CPU and memory are read from /proc.
 *
 *	swarm --server ADDRESS:PORT --ca FILE --socket PATH --pid PHXD [--nodes N] [--seconds S]
 *	      [--connected FILE] [--image NAME --digest SHA256] [--orders FILE]
 *
 * FILE is made when all are connected: whoever wants to disturb them begins then. How late an
 * answer is counts from the end of the two seconds that the poll may be held. --image, --digest:
 * the system that each machine says it runs. --orders: each first order of a step is written there,
 * a line "MILLISECONDS NODE" of the monotonic clock; it is told as running from then on and is
 * never done.
 *
 * One thread, one epoll: what it costs itself is not phxd's and not counted. Prints one line of
 * JSON after S seconds, or, with --seconds 0, at each SIGUSR1 one about the time since the one
 * before, until SIGTERM ends it. At SIGUSR2 the second half of the machines falls silent for good.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "bench/machine.h"

enum {
	BEAT_MS = 2000,
	/* an answer earlier than this is a storm if it is repeated: phx-agent pauses */
	EARLY_MS = 250,
	HANDSHAKES_MAX = 32,
	ANSWER_MAX = 16384,
	SETTLE_MS = 6000,
	LOOK_MS = 100, /* for a signal */
	GIVE_UP_MS = 1500000,
};

/*   CLOSED ──▶ HANDSHAKE ──▶ IDLE ◀──▶ ASKED     IDLE: something is due at due_ms */
enum conn_state { CLOSED, HANDSHAKE, IDLE, ASKED };

struct conn {
	struct machine machine;
	enum conn_state state;
	int fd;
	uint32_t interest;
	SSL *ssl;
	bool registered;
	double due_ms, asked_ms;
	unsigned tick;
	char *out;
	size_t n_out, sent;
	char in[ANSWER_MAX];
	size_t n_in;
	json_int_t order; /* that it has and never does; 0 none */
};

struct swarm {
	const char *server, *ca, *socket, *connected, *image, *digest, *orders;
	unsigned n, seconds, pid;
	FILE *orders_to;
	struct sockaddr_in address;
	SSL_CTX *ctx;
	int epoll_fd;
	struct conn *conns;
	unsigned handshakes, registered;
	uint64_t beats, failures;
	char failure[200]; /* the first */
	float *late_ms;    /* of each answer to a beat that was held to its end */
	size_t n_late, cap_late;
};

/* ---- enrolment, one after the other ---- */

static void enrol_all(struct swarm *s)
{
	struct phx_err err = {0};
	struct phx_http_client *admin = NULL, *head = NULL;
	PHX_AUTO_FREE char *url = phx_path("https://%s", s->server);
	struct phx_http_client_config by_socket = {.unix_path = s->socket,
						   .base_url = "http://phxd"};
	struct phx_http_client_config by_tls = {.base_url = url, .ca_pem_path = s->ca};
	if (phx_http_client_new(&by_socket, &admin, &err) < 0 ||
	    phx_http_client_new(&by_tls, &head, &err) < 0)
		machine_die("%s", err.text);
	for (unsigned i = 0; i < s->n; i++) {
		struct machine *m = &s->conns[i].machine;
		machine_init(m, "swarm", i + 1);
		if (machine_announce(m, admin, &err) < 0 || machine_enrol(m, head, &err) < 0)
			machine_die("%s: %s", m->name, err.text);
	}
	phx_http_client_free(admin);
	phx_http_client_free(head);
}

/* ---- one connection ---- */

static void watch(struct swarm *s, struct conn *c, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = c};
	if (c->interest != events)
		epoll_ctl(s->epoll_fd, c->interest ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &ev);
	c->interest = events;
}

static void drop(struct swarm *s, struct conn *c, const char *why)
{
	s->failures++;
	if (!s->failure[0])
		snprintf(s->failure, sizeof(s->failure), "%s: %s", c->machine.name, why);
	if (c->state == HANDSHAKE)
		s->handshakes--;
	if (c->registered)
		s->registered--;
	SSL_free(PHX_TAKE(c->ssl));
	close(c->fd);
	free(PHX_TAKE(c->out));
	c->interest = 0;
	c->registered = false;
	c->state = CLOSED;
	c->due_ms = machine_now_ms() + 1000;
}

/* The machine's own key and certificate. */
static bool set_identity(SSL *ssl, const struct machine *m)
{
	BIO *cert_bio = BIO_new_mem_buf(m->cert, -1), *key_bio = BIO_new_mem_buf(m->key, -1);
	X509 *cert = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);
	bool ok = cert && key && SSL_use_certificate(ssl, cert) == 1 &&
		SSL_use_PrivateKey(ssl, key) == 1;
	X509_free(cert);
	EVP_PKEY_free(key);
	BIO_free(cert_bio);
	BIO_free(key_bio);
	return ok;
}

static void open_conn(struct swarm *s, struct conn *c)
{
	const int on = 1;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		machine_die("socket: %s", strerror(errno));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	c->state = HANDSHAKE;
	s->handshakes++;
	c->ssl = SSL_new(s->ctx);
	if (!c->ssl || !set_identity(c->ssl, &c->machine))
		machine_die("%s: its certificate cannot be used", c->machine.name);
	if (connect(c->fd, (struct sockaddr *)&s->address, sizeof(s->address)) < 0 &&
	    errno != EINPROGRESS) {
		drop(s, c, strerror(errno));
		return;
	}
	SSL_set_fd(c->ssl, c->fd);
	SSL_set_connect_state(c->ssl);
	watch(s, c, EPOLLOUT);
}

/* What OpenSSL wants next; false when the connection is lost. */
static bool want(struct swarm *s, struct conn *c, int r)
{
	switch (SSL_get_error(c->ssl, r)) {
	case SSL_ERROR_WANT_READ:
		watch(s, c, EPOLLIN);
		return true;
	case SSL_ERROR_WANT_WRITE:
		watch(s, c, EPOLLIN | EPOLLOUT);
		return true;
	default:
		drop(s, c, "the connection was lost");
		return false;
	}
}

static void shake_hands(struct swarm *s, struct conn *c)
{
	int r = SSL_do_handshake(c->ssl);
	if (r != 1) {
		want(s, c, r);
		return;
	}
	s->handshakes--;
	c->state = IDLE;
	c->due_ms = 0;
	watch(s, c, EPOLLIN);
}

/* ---- requests ---- */

static void send_rest(struct swarm *s, struct conn *c)
{
	while (c->sent < c->n_out) {
		int r = SSL_write(c->ssl, c->out + c->sent, (int)(c->n_out - c->sent));
		if (r <= 0) {
			want(s, c, r);
			return;
		}
		c->sent += (size_t)r;
	}
	watch(s, c, EPOLLIN);
}

static void ask(struct swarm *s, struct conn *c)
{
	PHX_AUTO_JSON json_t *j = c->registered
		? machine_beat(&c->machine, "", "", c->order ? json_pack("[I]", c->order) : NULL,
			       c->tick++)
		: machine_hello(&c->machine, "", "", s->image, s->digest);
	PHX_AUTO_FREE char *body = phx_json_text(j);
	free(PHX_TAKE(c->out));
	if (!body)
		machine_die("out of memory");
	c->out = phx_path("POST /v1/agent/%s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\nContent-Type: "
			  "application/json\r\nPrefer: return=minimal\r\n"
			  "Content-Length: %zu\r\n\r\n%s",
			  c->registered ? "beat" : "hello", s->server, strlen(body), body);
	c->n_out = c->out ? strlen(c->out) : 0;
	c->sent = c->n_in = 0;
	c->state = ASKED;
	c->asked_ms = machine_now_ms();
	send_rest(s, c);
}

static void note_late(struct swarm *s, double ms)
{
	if (s->n_late == s->cap_late) {
		s->cap_late = s->cap_late ? 2 * s->cap_late : 65536;
		s->late_ms = reallocarray(s->late_ms, s->cap_late, sizeof(*s->late_ms));
		if (!s->late_ms)
			machine_die("out of memory");
	}
	s->late_ms[s->n_late++] = (float)ms;
}

static void take_order(struct swarm *s, struct conn *c)
{
	PHX_AUTO_JSON json_t *j = json_loads(strstr(c->in, "\r\n\r\n") + 4, 0, NULL);
	const json_t *order = json_array_get(json_object_get(j, "orders"), 0);
	if (!order || c->order == phx_json_int(order, "id", 0))
		return;
	c->order = phx_json_int(order, "id", 0);
	fprintf(s->orders_to, "%.1f %s\n", machine_now_ms(), c->machine.name);
}

static void take_answer(struct swarm *s, struct conn *c, int status)
{
	double now = machine_now_ms();
	bool hello = !c->registered;
	c->state = IDLE;
	if (status == 409) {
		s->registered -= c->registered;
		c->registered = false;
		c->due_ms = now + EARLY_MS;
		return;
	}
	if (status != 200 && status != 204) {
		char why[64];
		snprintf(why, sizeof(why), "status %d", status);
		drop(s, c, why);
		return;
	}
	s->registered += hello;
	s->beats += !hello;
	if (!hello && s->orders_to)
		take_order(s, c);
	if (!hello && now - c->asked_ms > BEAT_MS - EARLY_MS)
		note_late(s, now - c->asked_ms - BEAT_MS);
	c->registered = true;
	/* a thousand machines are not switched on at the same instant: first beats are spread over
	 * one period */
	c->due_ms = hello                      ? now + (double)(c->machine.number * 7919 % BEAT_MS)
		: now - c->asked_ms < EARLY_MS ? now + EARLY_MS
					       : now;
}

/* A whole answer in c->in? */
static bool complete(const struct conn *c, int *ret_status)
{
	const char *end = strstr(c->in, "\r\n\r\n");
	const char *length = end ? strcasestr(c->in, "\r\nContent-Length:") : NULL;
	if (!end || sscanf(c->in, "HTTP/1.1 %d", ret_status) != 1)
		return false;
	size_t n = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
	return c->n_in >= (size_t)(end + 4 - c->in) + n;
}

static void receive(struct swarm *s, struct conn *c)
{
	int status = 0;
	for (;;) {
		int r = SSL_read(c->ssl, c->in + c->n_in, (int)(sizeof(c->in) - 1 - c->n_in));
		if (r <= 0) {
			want(s, c, r);
			return;
		}
		c->n_in += (size_t)r;
		c->in[c->n_in] = '\0';
		if (complete(c, &status))
			break;
	}
	if (c->state == ASKED)
		take_answer(s, c, status);
}

static void handle(struct swarm *s, struct conn *c, uint32_t events)
{
	if (c->state == CLOSED)
		return;
	if (c->state == HANDSHAKE)
		shake_hands(s, c);
	else if (c->state == ASKED && c->sent < c->n_out)
		send_rest(s, c);
	else if (events)
		receive(s, c);
}

/* ---- the loop ---- */

static void start_due(struct swarm *s)
{
	double now = machine_now_ms();
	for (unsigned i = 0; i < s->n; i++) {
		struct conn *c = &s->conns[i];
		if (now < c->due_ms)
			continue;
		if (c->state == CLOSED && s->handshakes < HANDSHAKES_MAX)
			open_conn(s, c);
		else if (c->state == IDLE)
			ask(s, c);
	}
}

static void turn(struct swarm *s)
{
	struct epoll_event events[128];
	int n = epoll_wait(s->epoll_fd, events, PHX_ARRAY_SIZE(events), 10);
	for (int i = 0; i < n; i++)
		handle(s, events[i].data.ptr, events[i].events);
	start_due(s);
}

static void turn_for(struct swarm *s, double ms)
{
	for (double end = machine_now_ms() + ms; machine_now_ms() < end;)
		turn(s);
	if (s->orders_to)
		fflush(s->orders_to);
}

static void connect_all(struct swarm *s)
{
	double end = machine_now_ms() + GIVE_UP_MS;
	while (s->registered < s->n) {
		turn(s);
		if (machine_now_ms() > end)
			machine_die("%u of %u registered; %s", s->registered, s->n, s->failure);
	}
}

/* ---- phxd as /proc shows it ---- */

static double cpu_ms(unsigned pid)
{
	PHX_AUTO_FREE char *path = phx_path("/proc/%u/stat", pid);
	PHX_AUTO_FREE char *text = NULL;
	unsigned long user = 0, system = 0;
	if (!path || phx_file_read(path, 4096, &text, NULL, NULL) < 0)
		machine_die("phxd (pid %u) is gone", pid);
	const char *rest = strrchr(text, ')');
	if (!rest ||
	    sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		   &system) != 2)
		machine_die("%s cannot be read", path);
	return (double)(user + system) * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

static uint64_t memory_kib(unsigned pid, const char *key)
{
	PHX_AUTO_FREE char *path = phx_path("/proc/%u/status", pid);
	PHX_AUTO_FREE char *text = NULL;
	if (!path || phx_file_read(path, 8192, &text, NULL, NULL) < 0)
		machine_die("phxd (pid %u) is gone", pid);
	const char *at = strstr(text, key);
	return at ? strtoull(at + strlen(key) + 1, NULL, 10) : 0;
}

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return x < y ? -1 : x > y;
}

static double percentile(struct swarm *s, double p)
{
	qsort(s->late_ms, s->n_late, sizeof(*s->late_ms), compare);
	return s->n_late ? s->late_ms[(size_t)((double)(s->n_late - 1) * p)] : 0;
}

/* What happened since `w` began; the next window begins. */
struct window {
	uint64_t beats, failures;
	double began_ms, cpu_ms;
};

static void begin_window(struct swarm *s, struct window *w)
{
	*w = (struct window){s->beats, s->failures, machine_now_ms(), cpu_ms(s->pid)};
	s->n_late = 0;
}

static void print_window(struct swarm *s, const struct window *w, double enrol_ms,
			 double connect_ms)
{
	double elapsed = machine_now_ms() - w->began_ms;
	printf("{\"nodes\": %u, \"seconds\": %.1f, \"beats\": %llu, \"failures\": %llu, "
	       "\"cpu_percent\": %.2f, "
	       "\"rss_kib\": %llu, \"peak_kib\": %llu, \"enrol_s\": %.1f, \"connect_s\": %.1f, "
	       "\"late_ms\": {\"p50\": %.1f, \"p99\": %.1f, \"worst\": %.1f}}\n",
	       s->registered, elapsed / 1e3, (unsigned long long)(s->beats - w->beats),
	       (unsigned long long)(s->failures - w->failures),
	       (cpu_ms(s->pid) - w->cpu_ms) * 100 / elapsed,
	       (unsigned long long)memory_kib(s->pid, "VmRSS"),
	       (unsigned long long)memory_kib(s->pid, "VmHWM"), enrol_ms / 1e3, connect_ms / 1e3,
	       percentile(s, 0.5), percentile(s, 0.99), percentile(s, 1));
	fflush(stdout);
}

static volatile sig_atomic_t asked, fall_silent;

static void on_signal(int signo)
{
	*(signo == SIGUSR1 ? &asked : &fall_silent) = 1;
}

/* The second half of the machines is switched off. */
static void silence_half(struct swarm *s)
{
	uint64_t failures = s->failures; /* this is meant, and none */
	bool failed = s->failure[0];
	for (unsigned i = s->n / 2; i < s->n; i++) {
		struct conn *c = &s->conns[i];
		if (c->state != CLOSED)
			drop(s, c, "switched off");
		c->due_ms = INFINITY;
	}
	s->failures = failures;
	s->failure[0] = failed ? s->failure[0] : '\0';
}

static void measure(struct swarm *s, double enrol_ms, double connect_ms)
{
	struct window w;
	if (s->connected && phx_file_write(s->connected, "", 0, 0644, NULL) < 0)
		machine_die("%s cannot be written", s->connected);
	turn_for(s, SETTLE_MS);
	begin_window(s, &w);
	if (s->seconds) {
		turn_for(s, s->seconds * 1e3);
		print_window(s, &w, enrol_ms, connect_ms);
		return;
	}
	for (;;) {
		turn_for(s, LOOK_MS);
		if (fall_silent)
			silence_half(s);
		fall_silent = 0;
		if (!asked)
			continue;
		asked = 0;
		print_window(s, &w, enrol_ms, connect_ms);
		begin_window(s, &w);
	}
}

/* ---- the program ---- */

static void prepare(struct swarm *s)
{
	char host[64];
	const char *colon = strrchr(s->server, ':');
	struct rlimit files;
	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - s->server) : 0, s->server);
	s->address = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon ? colon + 1 : ""))};
	if (inet_pton(AF_INET, host, &s->address.sin_addr) != 1)
		machine_die("--server %s: must be ADDRESS:PORT", s->server);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	s->ctx = SSL_CTX_new(TLS_client_method());
	if (!s->ctx || SSL_CTX_load_verify_locations(s->ctx, s->ca, NULL) != 1)
		machine_die("%s: cannot be used as a CA certificate", s->ca);
	SSL_CTX_set_verify(s->ctx, SSL_VERIFY_PEER, NULL);
	X509_VERIFY_PARAM_set1_ip_asc(SSL_CTX_get0_param(s->ctx), host);
	SSL_CTX_set_mode(s->ctx, SSL_MODE_RELEASE_BUFFERS);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->conns = calloc(s->n, sizeof(*s->conns));
	if (!s->conns)
		machine_die("out of memory");
}

static void take_number(const char *text, unsigned *ret)
{
	uint64_t n = 0;
	if (phx_u64_parse(text, 0, 4000000, &n) < 0)
		machine_die("'%s' is no number", text);
	*ret = (unsigned)n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"server", required_argument, NULL, 's'},
		{"ca", required_argument, NULL, 'a'},
		{"socket", required_argument, NULL, 'u'},
		{"pid", required_argument, NULL, 'p'},
		{"nodes", required_argument, NULL, 'n'},
		{"seconds", required_argument, NULL, 't'},
		{"connected", required_argument, NULL, 'c'},
		{"image", required_argument, NULL, 'i'},
		{"digest", required_argument, NULL, 'd'},
		{"orders", required_argument, NULL, 'o'},
		{0},
	};
	struct swarm s = {.n = 1000, .seconds = 30, .image = "", .digest = ""};
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		const char **const texts[256] = {
			['s'] = &s.server,    ['a'] = &s.ca,    ['u'] = &s.socket,
			['c'] = &s.connected, ['i'] = &s.image, ['d'] = &s.digest,
			['o'] = &s.orders};
		unsigned *const numbers[256] = {['p'] = &s.pid, ['n'] = &s.n, ['t'] = &s.seconds};
		if (texts[c & 0xff])
			*texts[c & 0xff] = optarg;
		else if (numbers[c & 0xff])
			take_number(optarg, numbers[c & 0xff]);
		else
			machine_die("usage: see the head of swarm.c");
	}
	if (!s.server || !s.ca || !s.socket || !s.pid)
		machine_die("usage: see the head of swarm.c");
	signal(SIGPIPE, SIG_IGN); /* a head that hangs up is a failure to be counted */
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	if (s.orders && !(s.orders_to = fopen(s.orders, "we")))
		machine_die("%s cannot be written", s.orders);
	prepare(&s);
	double began = machine_now_ms();
	enrol_all(&s);
	double enrolled = machine_now_ms();
	connect_all(&s);
	measure(&s, enrolled - began, machine_now_ms() - enrolled);
	return 0;
}
