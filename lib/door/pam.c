/* One conversation with PAM: see door.h. Called in the process that serve.c is, and in no other
 * one of phxd's: modules are programs of the site. What it is given is the caller's to wipe; what
 * it gives to PAM libpam wipes. */
#include "door/door.h"

#include <stdlib.h>
#include <string.h>
#include <security/pam_appl.h>

#include "base/account.h"

#define SERVICE "phoenix"

/* One question is answered: a module that wants more (a code, a new password) is told that there is
 * nobody. */
struct talk {
	const char *password;
	bool told;
};

static int answer(struct talk *t, const struct pam_message *m, struct pam_response *ret)
{
	if (m->msg_style == PAM_TEXT_INFO || m->msg_style == PAM_ERROR_MSG)
		return PAM_SUCCESS;
	if (m->msg_style != PAM_PROMPT_ECHO_OFF || t->told)
		return PAM_CONV_ERR;
	t->told = true;
	ret->resp = strdup(t->password);
	return ret->resp ? PAM_SUCCESS : PAM_BUF_ERR;
}

static void drop(struct pam_response *list, int n)
{
	for (int i = 0; i < n; i++)
		if (list[i].resp) {
			explicit_bzero(list[i].resp, strlen(list[i].resp));
			free(list[i].resp);
		}
	free(list);
}

static int converse(int n, const struct pam_message **messages, struct pam_response **ret,
		    void *arg)
{
	if (n <= 0 || n > PAM_MAX_NUM_MSG)
		return PAM_CONV_ERR;
	struct pam_response *list = calloc((size_t)n, sizeof(*list));
	int r = list ? PAM_SUCCESS : PAM_BUF_ERR;
	for (int i = 0; r == PAM_SUCCESS && i < n; i++)
		r = answer(arg, messages[i], &list[i]);
	if (r != PAM_SUCCESS)
		drop(list, list ? n : 0);
	else
		*ret = list;
	return r;
}

/* Before the password was found right nothing is said of the account. */
static enum phx_door_said of_password(int r)
{
	switch (r) {
	case PAM_SUCCESS:
		return PHX_DOOR_IN;
	case PAM_SYSTEM_ERR:
	case PAM_BUF_ERR:
	case PAM_ABORT:
	case PAM_OPEN_ERR:
	case PAM_SYMBOL_ERR:
	case PAM_SERVICE_ERR:
	case PAM_AUTHINFO_UNAVAIL:
	case PAM_MODULE_UNKNOWN:
		return PHX_DOOR_UNABLE;
	default:
		return PHX_DOOR_WRONG;
	}
}

static enum phx_door_said of_account(int r)
{
	switch (r) {
	case PAM_SUCCESS:
		return PHX_DOOR_IN;
	case PAM_NEW_AUTHTOK_REQD:
		return PHX_DOOR_CHANGE;
	default:
		return of_password(r) == PHX_DOOR_UNABLE ? PHX_DOOR_UNABLE : PHX_DOOR_SHUT;
	}
}

/* A module may have found another name than was given. Nobody is root by a password. */
static enum phx_door_said who_it_is(pam_handle_t *pam, char ret_name[PHX_DOOR_NAME_MAX])
{
	PHX_AUTO_FREE char *texts = NULL;
	const void *name = NULL;
	struct passwd pw;
	if (pam_get_item(pam, PAM_USER, &name) != PAM_SUCCESS || !name)
		return PHX_DOOR_UNABLE;
	if (phx_user_named(name, &pw, &texts) < 0 || !pw.pw_uid ||
	    phx_str_copy(ret_name, PHX_DOOR_NAME_MAX, pw.pw_name) < 0)
		return PHX_DOOR_WRONG;
	return PHX_DOOR_IN;
}

static enum phx_door_said talk_to(pam_handle_t *pam, const struct phx_door_who *who,
				  char ret_name[PHX_DOOR_NAME_MAX])
{
	int r = pam_set_item(pam, PAM_RHOST, who->address);
	r = r == PAM_SUCCESS ? pam_set_item(pam, PAM_TTY, "phxd") : r;
	r = r == PAM_SUCCESS ? pam_authenticate(pam, PAM_DISALLOW_NULL_AUTHTOK | PAM_SILENT) : r;
	enum phx_door_said said = of_password(r);
	if (said == PHX_DOOR_IN)
		said = who_it_is(pam, ret_name);
	if (said == PHX_DOOR_IN) {
		r = pam_acct_mgmt(pam, PAM_DISALLOW_NULL_AUTHTOK | PAM_SILENT);
		said = of_account(r);
	}
	pam_end(pam, r);
	return said;
}

enum phx_door_said phx_pam_check(const struct phx_door_who *who, const char *confdir,
				 char ret_name[PHX_DOOR_NAME_MAX])
{
	struct talk talk = {.password = who->password};
	const struct pam_conv conv = {.conv = converse, .appdata_ptr = &talk};
	pam_handle_t *pam = NULL;
	int r = confdir ? pam_start_confdir(SERVICE, who->name, &conv, confdir, &pam)
			: pam_start(SERVICE, who->name, &conv, &pam);
	return r == PAM_SUCCESS ? talk_to(pam, who, ret_name) : PHX_DOOR_UNABLE;
}
