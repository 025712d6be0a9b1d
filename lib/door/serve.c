/* The process that asks PAM, and who asks it: see door.h. It is root, for modules read what root
 * alone may, and has nothing else of root's: no capability, no program, of files what modules read
 * (Landlock). Its memory leaves no core dump and is gone when it has
 * answered. */
#include "door/door.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apart/apart.h"
#include "apart/confine.h"

#define WHAT "the process that asks PAM"

enum { CHECK, BODY_MAX = PHX_DOOR_PASSWORD_MAX + PHX_DOOR_ADDRESS_MAX };

/* ---- the launcher's side ---- */

int phx_door_spawn(struct phx_process *ret, int *ret_fd, struct phx_err *err)
{
	static const char *const argv[] = {"/proc/self/exe", "--door", NULL};
	const struct phx_launch how = {.argv = argv};
	return phx_apart_spawn(&how, WHAT, ret, ret_fd, err);
}

/* ---- the process ---- */

/* The address, then the password, each with its '\0', and nothing else. */
static int read_who(const struct phx_apart_question *q, struct phx_door_who *ret)
{
	size_t n_address = strnlen(q->body, q->n);
	if (n_address + 1 >= q->n || n_address >= PHX_DOOR_ADDRESS_MAX || !q->name[0])
		return -EPROTO;
	const char *password = q->body + n_address + 1;
	size_t n = q->n - n_address - 1;
	if (strnlen(password, n) != n - 1 || n > PHX_DOOR_PASSWORD_MAX)
		return -EPROTO;
	*ret = (struct phx_door_who){q->name, password, q->body};
	return 0;
}

static int answer_check(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
			struct phx_err *err)
{
	char name[PHX_DOOR_NAME_MAX] = "";
	struct phx_door_who who;
	(void)arg;
	(void)err;
	int r = q->op == CHECK ? read_who(q, &who) : -ENOSYS;
	if (r < 0)
		return r;
	ret->number = phx_pam_check(&who, NULL, name);
	phx_buf_add(&ret->body, name, strlen(name) + 1);
	return 0;
}

static int confine(struct phx_err *err)
{
	enum { READ = PHX_CONFINE_READ | PHX_CONFINE_IF_THERE };
	static const struct phx_confine_path paths[] = {
		{"/etc", READ},         {"/usr", READ},
		{"/lib", READ},         {"/lib64", READ},
		{"/run", READ}, /* sockets of name services; nologin */
		{"/var/lib/sss", READ}, {"/var/run/faillock", READ | PHX_CONFINE_WRITE},
		{"/proc", READ},        {"/dev/null", READ | PHX_CONFINE_WRITE},
		{"/dev/urandom", READ},
	};
	const struct phx_confine c = {.what = WHAT,
				      .user = "",
				      .root_keeps_caps_alone = true,
				      .paths = paths,
				      .n_paths = PHX_ARRAY_SIZE(paths),
				      .calls = PHX_CALLS_door};
	return phx_confine_self(&c, err);
}

void phx_door_serve(int fd)
{
	const struct phx_apart_server server = {.body_max = BODY_MAX, .answer = answer_check};
	struct phx_err err = {0};
	phx_apart_deaf();
	int r = geteuid() == 0 ? confine(&err)
			       : phx_err_set(&err, -EPERM, "without root PAM cannot be asked");
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text);
	r = r ? r : phx_apart_serve_one(fd, &server);
	_exit(r == 0 || r == -EPIPE ? 0 : 1);
}

/* ---- who asks ---- */

static int read_said(const struct phx_apart_reply *reply, enum phx_door_said *ret,
		     char ret_name[PHX_DOOR_NAME_MAX])
{
	const struct phx_buf *b = &reply->body;
	if (reply->number >= PHX_DOOR_SAID_COUNT_ || !b->n || b->data[b->n - 1] ||
	    phx_str_copy(ret_name, PHX_DOOR_NAME_MAX, b->data) < 0)
		return -EPROTO;
	*ret = (enum phx_door_said)reply->number;
	return 0;
}

int phx_door_ask(int fd, const struct phx_door_who *who, enum phx_door_said *ret,
		 char ret_name[PHX_DOOR_NAME_MAX], struct phx_err *err)
{
	static const struct phx_apart_config config = {
		.what = WHAT, .answer_ms = PHX_DOOR_ANSWER_MS, .body_max = BODY_MAX};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	char body[BODY_MAX];
	size_t n_address = strlen(who->address) + 1, n = strlen(who->password) + 1;
	struct phx_apart_question q = {.op = CHECK, .body = body, .n = (uint32_t)(n_address + n)};
	struct phx_apart *door = NULL;
	int r = phx_apart_take(&config, fd, &door);
	if (r == 0 &&
	    (n_address > PHX_DOOR_ADDRESS_MAX || n > PHX_DOOR_PASSWORD_MAX ||
	     PHX_STR_SET(q.name, who->name) < 0))
		r = phx_err_set(err, -E2BIG, "name or password is too long");
	if (r == 0) {
		memcpy(body, who->address, n_address);
		memcpy(body + n_address, who->password, n);
		r = phx_apart_ask(door, &q, 0, &reply, err);
		explicit_bzero(body, sizeof(body));
	}
	phx_apart_end(door);
	return r ? r : read_said(&reply, ret, ret_name);
}
