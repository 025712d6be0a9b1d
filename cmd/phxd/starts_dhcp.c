/* What dnsmasq and in.tftpd write of machines that boot: a thread follows their logs and tells rows
 * (starts.h). The launcher owns the files, cuts them, and gives the descriptors; a file that can
 * only be read says nothing by itself when it grows, so it is looked at every so often. Called by
 * main.c. */
#include "phxd/starts.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "deploy/dhcp_log.h"
#include "deploy/tftp_log.h"

enum { LOOK_MS = 300, READ_BYTES = 64 << 10, LINE_MAX_ = 2048 };

/* A log that is followed. */
struct followed {
	bool wanted; /* phxd runs its program */
	int fd;      /* -1: not yet */
	off_t at;
	char line[LINE_MAX_];
	size_t n;
	bool long_line; /* its rest is left out */
};

struct starts_dhcp {
	struct daemon *d;
	pthread_t thread;
	bool started, ended;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	/* only the thread uses these: */
	struct followed logs[LAUNCH_LOGS];
	struct phx_dhcp_log dhcp;
	struct phx_tftp_log tftp;
	char block[READ_BYTES];
};

static void take_line(struct starts_dhcp *s, enum launch_log which)
{
	struct followed *f = &s->logs[which];
	struct phx_start_row row;
	char address[PHX_IPV4_MAX] = "";
	f->line[f->n] = '\0';
	bool says = !f->long_line &&
		(which == LAUNCH_LOG_DHCP ? phx_dhcp_log_take(&s->dhcp, f->line, &row, address)
					  : phx_tftp_log_take(&s->tftp, f->line, &row));
	if (says && address[0])
		starts_at(s->d->starts, address, row.node);
	if (says)
		starts_tell(s->d->starts, &row);
	f->n = 0;
	f->long_line = false;
}

static void take_block(struct starts_dhcp *s, enum launch_log which, size_t n)
{
	struct followed *f = &s->logs[which];
	for (size_t i = 0; i < n; i++) {
		if (s->block[i] == '\n')
			take_line(s, which);
		else if (f->n + 1 < sizeof(f->line))
			f->line[f->n++] = s->block[i];
		else
			f->long_line = true;
	}
}

/* What was written before is of starts that a former head has seen. */
static bool have_open(struct starts_dhcp *s, enum launch_log which)
{
	struct followed *f = &s->logs[which];
	struct stat st;
	if (!f->wanted || f->fd >= 0)
		return f->wanted;
	if (launch_boot_log(s->d->launch, which, &f->fd, NULL) < 0 || f->fd < 0) {
		f->fd = -1;
		return false;
	}
	f->at = fstat(f->fd, &st) == 0 ? st.st_size : 0;
	return true;
}

/* One that became shorter was cut: what is left was read before. */
static void look(struct starts_dhcp *s, enum launch_log which)
{
	struct followed *f = &s->logs[which];
	struct stat st;
	ssize_t n;
	if (!have_open(s, which) || fstat(f->fd, &st) < 0)
		return;
	if (st.st_size < f->at)
		f->at = st.st_size;
	while (f->at < st.st_size && (n = pread(f->fd, s->block, sizeof(s->block), f->at)) > 0) {
		f->at += n;
		take_block(s, which, (size_t)n);
	}
}

static void *work(void *arg)
{
	struct starts_dhcp *s = arg;
	pthread_mutex_lock(&s->lock);
	while (!s->ended) {
		pthread_mutex_unlock(&s->lock);
		for (int i = 0; i < LAUNCH_LOGS; i++)
			look(s, (enum launch_log)i);
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
	bool dhcp = d->cfg.dhcp_mode != PHX_DHCP_NONE || d->cfg.tftp == PHX_TFTP_DNSMASQ;
	bool tftp = d->cfg.tftp == PHX_TFTP_INTFTPD;
	if (!dhcp && !tftp)
		return 0;
	struct starts_dhcp *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->d = d;
	for (int i = 0; i < LAUNCH_LOGS; i++)
		s->logs[i] =
			(struct followed){.wanted = i == LAUNCH_LOG_DHCP ? dhcp : tftp, .fd = -1};
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
	for (int i = 0; i < LAUNCH_LOGS; i++)
		phx_close_fd(&s->logs[i].fd);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wanted);
	free(s);
}
