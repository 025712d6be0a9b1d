/* The head's side of the vault: starts it, asks it, starts it again when it has ended. Called by
 * the head's threads, one question at a time. A question is asked once more after a restart: each
 * is done twice as if it were done once. */
#include "vault/internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process.h"

/* Longer than the first question takes, which makes keys, on a slow machine. */
enum { ANSWER_S = 30 };

struct phx_vault {
	struct phx_vault_config config;
	pthread_mutex_t lock;
	struct phx_process process;
	int fd;
	/* the first question of all, asked again after a restart; NULL: not yet asked */
	char *names;
	uint32_t n_names;
};

/* ---- the process ---- */

static void end_process(struct phx_vault *v)
{
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
	if (v->process.pidfd < 0)
		return;
	/* one that hangs is not waited for */
	if (phx_process_wait(v->process.pidfd, 2000) < 0)
		phx_process_signal(v->process.pidfd, SIGKILL);
	phx_process_status(v->process.pidfd);
	close(v->process.pidfd);
	v->process.pidfd = -1;
}

static int start_process(struct phx_vault *v, struct phx_err *err)
{
	const struct phx_vault_config *c = &v->config;
	const char *argv[] = {c->program, "--vault", c->pki_dir, c->key_dir, c->user, NULL};
	const struct timeval limit = {.tv_sec = ANSWER_S};
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return phx_err_set(err, -errno, "the vault: %s", strerror(errno));
	const struct phx_launch launch = {.argv = argv, .in = pair[1], .group = PHX_GROUP_SESSION};
	int r = phx_process_start(&launch, &v->process, err);
	close(pair[1]);
	if (r < 0) {
		close(pair[0]);
		v->process.pidfd = -1;
		return phx_err_prefix(err, r, "the vault");
	}
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	v->fd = pair[0];
	return 0;
}

/* ---- questions ---- */

static int ask_once(struct phx_vault *v, const struct vault_message *q, const void *body,
		    struct vault_message *ret, char **ret_body)
{
	int r = vault_send(v->fd, q, body);
	r = r ? r : vault_receive(v->fd, ret, ret_body);
	if (r == 0 && ret->op != q->op) {
		free(PHX_TAKE(*ret_body));
		r = -EPROTO;
	}
	return r;
}

/* The site is opened again before anything else is asked. */
static int start_again(struct phx_vault *v, struct phx_err *err)
{
	struct vault_message q = {.op = VAULT_site, .n = v->n_names}, a;
	PHX_AUTO_FREE char *body = NULL;
	end_process(v);
	int r = start_process(v, err);
	if (r == 0 && v->names)
		r = ask_once(v, &q, v->names, &a, &body);
	if (r == 0 && body)
		explicit_bzero(body, a.n); /* the server's key is in it */
	return r;
}

static int ask_locked(struct phx_vault *v, const struct vault_message *q, const void *body,
		      struct vault_message *ret, char **ret_body, bool *ret_restarted,
		      struct phx_err *err)
{
	int r = v->fd < 0 ? -EPIPE : ask_once(v, q, body, ret, ret_body);
	if (r < 0) {
		*ret_restarted = true;
		r = start_again(v, err);
		r = r ? r : ask_once(v, q, body, ret, ret_body);
	}
	if (r < 0) {
		end_process(v); /* what it may still say is no answer to the next question */
		return phx_err_set(err, r, "the process that holds the keys does not answer: %s",
				   strerror(-r));
	}
	return ret->result < 0 ? phx_err_set(err, ret->result, "%s", *ret_body) : 0;
}

/* `ret_body` malloc'd, of `want` bytes where that is not 0; the caller wipes and frees it. */
static int ask(struct phx_vault *v, struct vault_message *q, const void *body, uint32_t want,
	       char **ret_body, uint32_t *ret_n, struct phx_err *err)
{
	struct vault_message a = {0};
	PHX_AUTO_FREE char *answer = NULL;
	bool restarted = false;
	if (q->n > VAULT_BODY_MAX)
		return phx_err_set(err, -E2BIG, "the vault is asked for more than it takes");
	pthread_mutex_lock(&v->lock);
	int r = ask_locked(v, q, body, &a, &answer, &restarted, err);
	pthread_mutex_unlock(&v->lock);
	if (restarted && v->config.restarted)
		v->config.restarted(v->config.arg);
	if (r == 0 && want && a.n != want)
		r = phx_err_set(err, -EPROTO, "the vault's answer is not as long as it should be");
	if (r < 0)
		return r;
	if (ret_n)
		*ret_n = a.n;
	*ret_body = PHX_TAKE(answer);
	return 0;
}

/* ---- the questions that there are ---- */

static int pack_names(struct phx_vault *v, const char *const *names, size_t n)
{
	struct phx_buf b = {0};
	for (size_t i = 0; i < n; i++)
		phx_buf_add(&b, names[i], strlen(names[i]) + 1);
	uint32_t n_bytes = (uint32_t)b.n;
	char *text = phx_buf_take(&b);
	if (!text)
		return -ENOMEM;
	pthread_mutex_lock(&v->lock);
	free(v->names);
	v->names = text;
	v->n_names = n_bytes;
	pthread_mutex_unlock(&v->lock);
	return 0;
}

/* Text `i` of those that stand in a row; NULL beyond the end. */
static const char *text_at(const char *texts, uint32_t n, unsigned i)
{
	const char *at = texts;
	while (i-- && at < texts + n)
		at += strlen(at) + 1;
	return at < texts + n ? at : NULL;
}

int phx_vault_site(struct phx_vault *v, const char *const *server_names, size_t n_names,
		   struct phx_pki **ret, char **ret_complaint, struct phx_err *err)
{
	char *body = NULL;
	uint32_t n = 0;
	int r = pack_names(v, server_names, n_names);
	struct vault_message q = {.op = VAULT_site, .n = v->n_names};
	r = r ? r : ask(v, &q, v->names, 0, &body, &n, err);
	if (r < 0)
		return r;
	const char *complaint = text_at(body, n, 6);
	const struct phx_pki_texts texts = {.ca = text_at(body, n, 0),
					    .server = text_at(body, n, 1),
					    .server_key = text_at(body, n, 2),
					    .site_pub = text_at(body, n, 3),
					    .attest_pub = text_at(body, n, 4),
					    .start_key = text_at(body, n, 5)};
	r = complaint ? phx_pki_public(&texts, ret)
		      : phx_err_set(err, -EPROTO, "the vault's answer is cut off");
	*ret_complaint = r == 0 && complaint[0] ? strdup(complaint) : NULL;
	explicit_bzero(body, n);
	free(body);
	return r;
}

int phx_vault_cert(struct phx_vault *v, const char *csr_pem, const char *name, uint32_t days,
		   char **ret_pem, struct phx_err *err)
{
	struct vault_message q = {.op = VAULT_cert, .days = days, .n = (uint32_t)strlen(csr_pem)};
	if (phx_str_copy(q.name, sizeof(q.name), name) < 0)
		return phx_err_set(err, -EINVAL, "'%s' is no name of a node", name);
	return ask(v, &q, csr_pem, 0, ret_pem, NULL, err);
}

int phx_vault_sign(struct phx_vault *v, enum phx_vault_key key, const char *text,
		   uint8_t ret_sig[PHX_SIG_SIZE], struct phx_err *err)
{
	struct vault_message q = {.op = key == PHX_VAULT_ATTEST ? VAULT_attest : VAULT_sign,
				  .n = (uint32_t)strlen(text)};
	PHX_AUTO_FREE char *body = NULL;
	int r = ask(v, &q, text, PHX_SIG_SIZE, &body, NULL, err);
	if (r == 0)
		memcpy(ret_sig, body, PHX_SIG_SIZE);
	return r;
}

static int ask_key(struct phx_vault *v, enum vault_op op, const char *key_id, uint32_t want,
		   char **ret, struct phx_err *err)
{
	struct vault_message q = {.op = op};
	if (phx_str_copy(q.name, sizeof(q.name), key_id) < 0)
		return phx_err_set(err, -EINVAL, "'%s' is not a key id", key_id);
	return ask(v, &q, "", want, ret, NULL, err);
}

int phx_vault_key_make(struct phx_vault *v, const char *key_id, struct phx_err *err)
{
	PHX_AUTO_FREE char *body = NULL;
	return ask_key(v, VAULT_key_make, key_id, 0, &body, err);
}

int phx_vault_key_read(struct phx_vault *v, const char *key_id, uint8_t ret_key[PHX_DISK_KEY_SIZE],
		       struct phx_err *err)
{
	PHX_AUTO_FREE char *body = NULL;
	int r = ask_key(v, VAULT_key_read, key_id, PHX_DISK_KEY_SIZE, &body, err);
	if (r == 0) {
		memcpy(ret_key, body, PHX_DISK_KEY_SIZE);
		explicit_bzero(body, PHX_DISK_KEY_SIZE);
	}
	return r;
}

int phx_vault_key_destroy(struct phx_vault *v, const char *key_id, struct phx_err *err)
{
	PHX_AUTO_FREE char *body = NULL;
	return ask_key(v, VAULT_key_destroy, key_id, 0, &body, err);
}

/* ---- start and end ---- */

int phx_vault_start(const struct phx_vault_config *config, struct phx_vault **ret,
		    struct phx_err *err)
{
	struct phx_vault *v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->config = *config;
	v->fd = v->process.pidfd = -1;
	pthread_mutex_init(&v->lock, NULL);
	int r = start_process(v, err);
	if (r < 0) {
		phx_vault_end(v);
		return r;
	}
	*ret = v;
	return 0;
}

void phx_vault_end(struct phx_vault *v)
{
	if (!v)
		return;
	end_process(v);
	pthread_mutex_destroy(&v->lock);
	free(v->names);
	free(v);
}

pid_t phx_vault_pid(struct phx_vault *v)
{
	pthread_mutex_lock(&v->lock);
	pid_t pid = v->process.pidfd < 0 ? 0 : v->process.pid;
	pthread_mutex_unlock(&v->lock);
	return pid;
}
