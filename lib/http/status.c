/* Error codes as HTTP statuses and back. Called by server and client, so that the code a
 * handler gave is the code its caller gets. */
#include "http/internal.h"

#include <errno.h>
#include <string.h>

struct row {
	int code;
	const char *name;
	int status;
};

/* Of several codes with one status, the first is what a status without a name becomes. */
static const struct row rows[] = {
	{-EINVAL, "EINVAL", 400},
	{-EPERM, "EPERM", 403},
	{-EACCES, "EACCES", 403},
	{-ENOENT, "ENOENT", 404},
	{-EBUSY, "EBUSY", 409},
	{-EEXIST, "EEXIST", 409},
	{-ESTALE, "ESTALE", 409},
	{-ENOTUNIQ, "ENOTUNIQ", 409},
	{-EFBIG, "EFBIG", 413},
	{-E2BIG, "E2BIG", 413},
	{-EAGAIN, "EAGAIN", 503},
	{-ENOSPC, "ENOSPC", 507},
	{-EROFS, "EROFS", 507},
	{-EIO, "EIO", 500},
	{-ENOMEM, "ENOMEM", 500},
	{-ETIMEDOUT, "ETIMEDOUT", 500},
	{-EKEYREJECTED, "EKEYREJECTED", 500},
	{-EPERM, "EPERM", 401},
	{-EOPNOTSUPP, "EOPNOTSUPP", 405},
	{-ERANGE, "ERANGE", 416},
	{-EAGAIN, "EAGAIN", 429}, /* of other servers; ours gives a name */
	{-EDQUOT, "EDQUOT", 429},
};

int phx_http_status_of(int code)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].code == code)
			return rows[i].status;
	return 500;
}

const char *phx_http_code_name(int code)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].code == code)
			return rows[i].name;
	return "EIO";
}

int phx_http_code_of(long status, const char *name)
{
	for (size_t i = 0; name && i < PHX_ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].code;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].code;
	return status >= 400 && status < 500 ? -EINVAL : -EIO;
}
