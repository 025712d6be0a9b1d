/* Redfish over HTTP(S): the system resource, its Reset action and its boot
 * override. Called by power.c from worker threads. One client per exchange:
 * BMCs drop idle connections, and power operations are rare. */
#include "power/driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "http/http.h"

enum { PASSWORD_MAX = 256, ANSWER_MAX = 1 << 20, PATH_SIZE = 256 };

static const char SYSTEMS[] = "/redfish/v1/Systems";

/* One exchange with a BMC: the client and the time for each of its calls. */
struct session {
	struct phx_http_client *client;
	uint32_t timeout_ms;
	char system[PATH_SIZE];
};

static void session_fini(struct session *s)
{
	phx_http_client_free(s->client);
	*s = (struct session){0};
}

static int check(const struct phx_bmc *bmc, struct phx_err *err)
{
	if (!bmc->address[0])
		return phx_err_set(err, -EINVAL,
				   "address: the driver redfish needs the BMC's HOST or URL");
	if (!bmc->user[0] || !bmc->password_file[0])
		return phx_err_set(err, -EINVAL,
				   "user, password_file: the driver redfish needs both");
	if (bmc->system[0] && bmc->system[0] != '/')
		return phx_err_set(err, -EINVAL, "system '%s': a path is expected, as in %s/1",
				   bmc->system, SYSTEMS);
	if (strstr(bmc->address, "://") && !phx_str_starts(bmc->address, "https://") &&
	    !phx_str_starts(bmc->address, "http://"))
		return phx_err_set(err, -EINVAL,
				   "address '%s': https://HOST or http://HOST is expected",
				   bmc->address);
	return 0;
}

/* ---- answers ---- */

/* The BMC's own words: error.@Message.ExtendedInfo[0].Message, or error.message. */
static const char *message_of(const json_t *j)
{
	const json_t *error = json_object_get(j, "error");
	const json_t *info = json_array_get(json_object_get(error, "@Message.ExtendedInfo"), 0);
	return phx_json_str(info, "Message", phx_json_str(error, "message", ""));
}

static int code_of(long status)
{
	static const struct {
		long status;
		int code;
	} rows[] = {
		{401, -EACCES}, {403, -EACCES}, {404, -EIO},        {405, -EOPNOTSUPP},
		{409, -EBUSY},  {429, -EBUSY},  {501, -EOPNOTSUPP}, {503, -EBUSY},
	};
	if (status >= 200 && status < 300)
		return 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].code;
	return -EIO;
}

static int transport_code(int r)
{
	return r == -ECONNREFUSED || r == -ETIMEDOUT || r == -ENOENT || r == -ENETUNREACH
		? -EHOSTUNREACH
		: r;
}

/* One call; *ret_json (may be NULL) is the answer's object, NULL when it has none. */
static int call(struct session *s, const char *method, const char *path, const json_t *body,
		json_t **ret_json, struct phx_err *err)
{
	PHX_AUTO(phx_http_response_fini) struct phx_http_response res = {0};
	int r = phx_http_call(s->client, method, path, body, s->timeout_ms, &res, err);
	if (r < 0)
		return transport_code(r);
	if (res.n > ANSWER_MAX)
		return phx_err_set(err, -EIO, "%s %s: an answer of %zu bytes is not Redfish",
				   method, path, res.n);
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_err why = {0};
	bool parsed = res.n && phx_json_parse(res.body, res.n, &j, &why) == 0;
	r = code_of(res.status);
	if (r < 0)
		return phx_err_set(err, r, "%s %s: the BMC answers %ld %s", method, path,
				   res.status, message_of(j));
	if (ret_json && !parsed)
		return phx_err_set(err, -EIO, "%s %s: %s", method, path,
				   res.n ? why.text : "an empty answer");
	if (ret_json)
		*ret_json = PHX_TAKE(j);
	return 0;
}

/* ---- finding the system ---- */

/* The only member of the collection. */
static int find_system(struct session *s, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *j = NULL;
	int r = call(s, "GET", SYSTEMS, NULL, &j, err);
	if (r < 0)
		return r;
	const json_t *members = json_object_get(j, "Members");
	const char *path = phx_json_str(json_array_get(members, 0), "@odata.id", "");
	if (json_array_size(members) != 1)
		return phx_err_set(err, -EINVAL,
				   "system: the BMC has %zu systems; name one, such as '%s'",
				   json_array_size(members), path);
	if (path[0] != '/' || PHX_STR_SET(s->system, path) < 0)
		return phx_err_set(err, -EIO, "%s: its member '%s' is no path", SYSTEMS, path);
	return 0;
}

static int open_session(const struct phx_bmc *bmc, uint32_t timeout_ms, struct session *ret,
			struct phx_err *err)
{
	PHX_AUTO_SECRET char *secret = NULL;
	int r = phx_power_secret_read(bmc->password_file, PASSWORD_MAX, &secret, err);
	if (r < 0)
		return r;
	char url[160];
	snprintf(url, sizeof(url), "%s%s", strstr(bmc->address, "://") ? "" : "https://",
		 bmc->address);
	const struct phx_http_client_config config = {
		.base_url = url, .user = bmc->user, .password = secret, .insecure = bmc->insecure};
	PHX_AUTO(session_fini) struct session s = {.timeout_ms = timeout_ms};
	r = phx_http_client_new(&config, &s.client, err);
	if (r == 0 && bmc->system[0])
		r = PHX_STR_SET(s.system, bmc->system);
	else if (r == 0)
		r = find_system(&s, err);
	if (r < 0)
		return r;
	*ret = s;
	s.client = NULL;
	return 0;
}

/* ---- acts ---- */

static enum phx_power_state state_of(const json_t *system)
{
	const char *text = phx_json_str(system, "PowerState", "");
	/* PoweringOn and PoweringOff are neither yet. */
	return !strcmp(text, "On")     ? PHX_POWER_IS_ON
		: !strcmp(text, "Off") ? PHX_POWER_IS_OFF
				       : PHX_POWER_UNKNOWN;
}

static int status(const struct phx_bmc *bmc, uint32_t timeout_ms, enum phx_power_state *ret_state,
		  struct phx_err *err)
{
	PHX_AUTO(session_fini) struct session s = {0};
	PHX_AUTO_JSON json_t *system = NULL;
	int r = open_session(bmc, timeout_ms, &s, err);
	if (r == 0)
		r = call(&s, "GET", s.system, NULL, &system, err);
	if (r == 0)
		*ret_state = state_of(system);
	return r;
}

static const struct act {
	const char *reset_types[3];    /* Reset action: the first that the BMC allows */
	const char *boot_target;       /* or boot override */
	enum phx_power_state is_so_if; /* a refusal in this state means: already so */
} acts[] = {
	[PHX_POWER_ON] = {{"On", "ForceOn"}, NULL, PHX_POWER_IS_ON},
	[PHX_POWER_OFF] = {{"ForceOff"}, NULL, PHX_POWER_IS_OFF},
	[PHX_POWER_SOFT] = {{"GracefulShutdown"}, NULL, PHX_POWER_IS_OFF},
	[PHX_POWER_RESET] = {{"ForceRestart", "PowerCycle"}, NULL, PHX_POWER_UNKNOWN},
	[PHX_POWER_BOOT_PXE] = {{NULL}, "Pxe", PHX_POWER_UNKNOWN},
	[PHX_POWER_BOOT_DISK] = {{NULL}, "Hdd", PHX_POWER_UNKNOWN},
};

static bool list_has(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (phx_str_eq(json_string_value(json_array_get(list, i)), text))
			return true;
	return false;
}

/* The reset type to use; a BMC that lists none takes the first. */
static const char *choose_type(const struct act *act, const json_t *reset)
{
	const json_t *allowed = json_object_get(reset, "ResetType@Redfish.AllowableValues");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(act->reset_types) && act->reset_types[i]; i++)
		if (!json_is_array(allowed) || list_has(allowed, act->reset_types[i]))
			return act->reset_types[i];
	return NULL;
}

static int reset_system(struct session *s, const struct act *act, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *system = NULL;
	int r = call(s, "GET", s->system, NULL, &system, err);
	if (r < 0)
		return r;
	const json_t *reset =
		json_object_get(json_object_get(system, "Actions"), "#ComputerSystem.Reset");
	const char *type = choose_type(act, reset);
	if (!type)
		return phx_err_set(err, -EOPNOTSUPP, "the BMC does not offer ResetType %s",
				   act->reset_types[0]);
	char target[PATH_SIZE + 40];
	snprintf(target, sizeof(target), "%s/Actions/ComputerSystem.Reset", s->system);
	PHX_AUTO_JSON json_t *body = json_pack("{s:s}", "ResetType", type);
	if (!body)
		return -ENOMEM;
	struct phx_err why = {0};
	/* what is no path, after the BMC's address, could be another host's address */
	const char *told = phx_json_str(reset, "target", "");
	r = call(s, "POST", told[0] == '/' ? told : target, body, NULL, &why);
	/* Many refuse what is so already. The report may lag behind: observing decides, not
	 * this. */
	if ((r == -EBUSY || r == -EIO) && act->is_so_if != PHX_POWER_UNKNOWN &&
	    state_of(system) == act->is_so_if)
		return 0;
	return r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
}

static int set_boot(struct session *s, const struct act *act, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *body =
		json_pack("{s:{s:s,s:s}}", "Boot", "BootSourceOverrideEnabled", "Once",
			  "BootSourceOverrideTarget", act->boot_target);
	return body ? call(s, "PATCH", s->system, body, NULL, err) : -ENOMEM;
}

static int order(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		 struct phx_err *err)
{
	PHX_AUTO(session_fini) struct session s = {0};
	int r = open_session(bmc, timeout_ms, &s, err);
	if (r < 0)
		return r;
	const struct act *act = &acts[op];
	return act->boot_target ? set_boot(&s, act, err) : reset_system(&s, act, err);
}

const struct phx_power_driver phx_power_redfish = {.observes = true,
						   .check = check,
						   .ready = phx_power_password_ready,
						   .status = status,
						   .order = order};
