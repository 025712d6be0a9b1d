/* What dnsmasq writes of machines that boot: a thread follows its log and tells rows (starts.h).
 * The launcher owns the file, cuts it, and gives the descriptor; a file that can only be read says
 * nothing by itself when it grows, so it is looked at every so often. Called by main.c. */
#include "phxd/starts.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "deploy/dhcp_log.h"

enum { LOOK_MS = 300, READ_BYTES = 64 << 10, LINE_MAX_ = 2048 };

struct starts_dhcp {
	struct daemon *d;
	pthread_t thread;
	bool started, ended;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	/* only the thread uses these: */
	int fd; /* -1: not yet */
	off_t at;
	struct phx_dhcp_log log;
	char line[LINE_MAX_];
	size_t n;
	bool long_line; /* its rest is left out */
	char block[READ_BYTES];
};

static void take_line(struct starts_dhcp *s)
{
	struct phx_start_row row;
	char address[PHX_IPV4_MAX];
	s->line[s->n] = '\0';
	if (!s->long_line && phx_dhcp_log_take(&s->log, s->line, &row, address)) {
		if (address[0])
			starts_at(s->d->starts, address, row.node);
		starts_tell(s->d->starts, &row);
	}
	s->n = 0;
	s->long_line = false;
}

static void take_block(struct starts_dhcp *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s->block[i] == '\n')
			take_line(s);
		else if (s->n + 1 < sizeof(s->line))
			s->line[s->n++] = s->block[i];
		else
			s->long_line = true;
	}
}

/* What was written before is of starts that a former head has seen. */
static bool have_open(struct starts_dhcp *s)
{
	struct stat st;
	if (s->fd >= 0)
		return true;
	if (launch_dhcp_log(s->d->launch, &s->fd, NULL) < 0 || s->fd < 0) {
		s->fd = -1;
		return false;
	}
	s->at = fstat(s->fd, &st) == 0 ? st.st_size : 0;
	return true;
}

/* One that became shorter was cut: what is left was read before. */
static void look(struct starts_dhcp *s)
{
	struct stat st;
	ssize_t n;
	if (!have_open(s) || fstat(s->fd, &st) < 0)
		return;
	if (st.st_size < s->at)
		s->at = st.st_size;
	while (s->at < st.st_size && (n = pread(s->fd, s->block, sizeof(s->block), s->at)) > 0) {
		s->at += n;
		take_block(s, (size_t)n);
	}
}

static void *work(void *arg)
{
	struct starts_dhcp *s = arg;
	pthread_mutex_lock(&s->lock);
	while (!s->ended) {
		pthread_mutex_unlock(&s->lock);
		look(s);
		pthread_mutex_lock(&s->lock);
		int64_t next_ms = phx_clock_ms() + LOOK_MS;
		while (!s->ended && phx_cond_until(&s->wanted, &s->lock, next_ms))
			;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int starts_dhcp_new(struct daemon *d, struct starts_dhcp **ret)
{
	if (d->cfg.dhcp_mode == PHX_DHCP_NONE && d->cfg.tftp != PHX_TFTP_DNSMASQ)
		return 0;
	struct starts_dhcp *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->d = d;
	s->fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	phx_cond_init(&s->wanted);
	int code = pthread_create(&s->thread, NULL, work, s);
	s->started = code == 0;
	if (code) {
		starts_dhcp_free(s);
		return -code;
	}
	*ret = s;
	return 0;
}

void starts_dhcp_free(struct starts_dhcp *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_signal(&s->wanted);
	pthread_mutex_unlock(&s->lock);
	if (s->started)
		pthread_join(s->thread, NULL);
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wanted);
	free(s);
}
