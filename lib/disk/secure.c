/* Erasing by the drive itself: see internal.h. Called by wipe.c, which marks
 * the disk before and reads it back after: what a drive reports here is only
 * a claim. Never falls back to a weaker method than the drive's own.
 *
 *   plan: ask the drive -> ways it offers -> erase: first way that it accepts
 *   sanitize:  start -> poll until done, failed or over time
 *   security:  (unlock) -> set password -> prepare -> erase -> password gone? */
#include <errno.h>
#include <string.h>

#include "disk/identify.h"
#include "disk/internal.h"

enum way {
	ATA_BLOCK,
	ATA_CRYPTO,
	ATA_OVERWRITE,
	ATA_ENHANCED,
	ATA_SECURITY,
	NVME_BLOCK,
	NVME_CRYPTO,
	NVME_FORMAT,
	NVME_OVERWRITE
};

enum { REFUSED = 1 }; /* the drive would not even begin: another way may be tried */

/* ATA commands */
enum {
	SANITIZE_DEVICE = 0xb4,
	SECURITY_SET_PASSWORD = 0xf1,
	SECURITY_UNLOCK = 0xf2,
	SECURITY_ERASE_PREPARE = 0xf3,
	SECURITY_ERASE_UNIT = 0xf4,
	SECURITY_DISABLE_PASSWORD = 0xf6,
};
enum { SANITIZE_STATUS = 0, SANITIZE_DONE = 1 << 15, SANITIZE_RUNNING = 1 << 14 };

/* NVMe admin commands */
enum {
	NVME_GET_LOG_PAGE = 0x02,
	NVME_FORMAT_NVM = 0x80,
	NVME_SANITIZE = 0x84,
	NVME_LOG_SANITIZE = 0x81,
	NVME_STATUS_OPCODE = 0x01,
	NVME_STATUS_FIELD = 0x02,
	NVME_ERASE_USER_DATA = 1 << 9,
};

enum { COMMAND_MS = 30000, POLL_MS = 500, HOUR_MS = 3600 * 1000 };
enum { SLOW_LIMIT_MS = 48 * HOUR_MS, FAST_LIMIT_MS = 4 * HOUR_MS };

/* Ours, so that an erase cut off by a power failure can be unlocked and resumed. Guards nothing. */
static const char password[32] = "phoenix-erase";

struct erase {
	const struct phx_device *dev;
	struct phx_secure *how;
	uint64_t size_bytes;
	phx_block_step_fn step;
	void *arg;
	struct phx_err *err;
};

/* ---- ATA sanitize ---- */

static int ata_simple(const struct erase *e, uint8_t command, uint32_t timeout_ms)
{
	struct phx_ata_command c = {.command = command, .timeout_ms = timeout_ms};
	return e->dev->ops->ata(e->dev->ctx, &c);
}

static void tell(const struct erase *e, uint64_t part, uint64_t whole)
{
	if (e->step)
		e->step(e->arg, e->size_bytes / whole * part);
}

static int poll_ata(const struct erase *e, uint32_t limit_ms)
{
	for (uint64_t ms = 0; ms < limit_ms; ms += POLL_MS) {
		struct phx_ata_command c = {.command = SANITIZE_DEVICE,
					    .feature = SANITIZE_STATUS,
					    .ext = true,
					    .timeout_ms = COMMAND_MS};
		int r = e->dev->ops->ata(e->dev->ctx, &c);
		if (r < 0)
			return phx_err_set(
				e->err, -EIO,
				"ATA sanitize failed in the drive (error register 0x%02x)",
				c.error);
		if (!(c.count & SANITIZE_RUNNING))
			return c.count & SANITIZE_DONE
				? 0
				: phx_err_set(e->err, -EIO,
					      "ATA sanitize ended without the drive calling it "
					      "complete");
		tell(e, c.lba & 0xffff, 0x10000);
		e->dev->ops->wait_ms(e->dev->ctx, POLL_MS);
	}
	return phx_err_set(e->err, -ETIMEDOUT, "ATA sanitize did not end within %u minutes",
			   limit_ms / 60000);
}

static int ata_sanitize(const struct erase *e, enum way way)
{
	static const struct {
		uint16_t feature, count;
		uint64_t lba;
		uint32_t limit_ms;
	} acts[] = {
		[ATA_BLOCK] = {0x0012, 0, 0x426b4572, FAST_LIMIT_MS},
		[ATA_CRYPTO] = {0x0011, 0, 0x43727970, FAST_LIMIT_MS},
		[ATA_OVERWRITE] = {0x0014, 1, 0x4f5700000000, SLOW_LIMIT_MS},
	};
	struct phx_ata_command c = {.command = SANITIZE_DEVICE,
				    .feature = acts[way].feature,
				    .count = acts[way].count,
				    .lba = acts[way].lba,
				    .ext = true,
				    .timeout_ms = COMMAND_MS};
	int r = e->dev->ops->ata(e->dev->ctx, &c);
	if (r == -EIO)
		return REFUSED;
	return r < 0 ? phx_err_set(e->err, r, "ATA sanitize: %s", strerror(-r))
		     : poll_ata(e, acts[way].limit_ms);
}

/* ---- ATA security erase ---- */

static int send_password(const struct erase *e, uint8_t command, uint16_t word0,
			 uint32_t timeout_ms)
{
	uint8_t data[512] = {(uint8_t)word0, (uint8_t)(word0 >> 8)};
	memcpy(data + 2, password, sizeof(password));
	struct phx_ata_command c = {.command = command,
				    .count = 1,
				    .direction = PHX_ATA_WRITE,
				    .data = data,
				    .timeout_ms = timeout_ms};
	return e->dev->ops->ata(e->dev->ctx, &c);
}

/* Unlocked, our password set, and the drive says so. */
static int arm(const struct erase *e)
{
	struct phx_ata_identity id;
	int r = phx_ata_identify(e->dev, &id, e->err);
	if (r < 0)
		return r;
	if (id.frozen)
		return REFUSED;
	if (id.locked && send_password(e, SECURITY_UNLOCK, 0, COMMAND_MS) < 0)
		return phx_err_set(e->err, -EACCES,
				   "the drive is locked by a password that is not ours");
	if (send_password(e, SECURITY_SET_PASSWORD, 0, COMMAND_MS) < 0)
		return phx_err_set(e->err, -EIO, "the drive refuses a security password");
	r = phx_ata_identify(e->dev, &id, e->err);
	if (r < 0)
		return r;
	return id.security_enabled
		? 0
		: phx_err_set(e->err, -EIO,
			      "the drive took a security password and does not show it");
}

/* Leave no password behind, whatever happened. */
static void disarm(const struct erase *e)
{
	struct phx_ata_identity id;
	if (phx_ata_identify(e->dev, &id, NULL) < 0 || !id.security_enabled)
		return;
	if (id.locked)
		send_password(e, SECURITY_UNLOCK, 0, COMMAND_MS);
	send_password(e, SECURITY_DISABLE_PASSWORD, 0, COMMAND_MS);
}

static int ata_security(const struct erase *e, enum way way)
{
	uint64_t told_ms = (uint64_t)e->how->erase_minutes * 60000 * 2;
	uint32_t limit_ms = told_ms && told_ms < SLOW_LIMIT_MS ? (uint32_t)told_ms : SLOW_LIMIT_MS;
	int r = arm(e);
	if (r)
		return r;
	r = ata_simple(e, SECURITY_ERASE_PREPARE, COMMAND_MS);
	if (r == 0)
		r = send_password(e, SECURITY_ERASE_UNIT, way == ATA_ENHANCED ? 2 : 0, limit_ms);
	disarm(e);
	return r < 0 ? phx_err_set(e->err, r, "the drive aborted the ATA security erase: %s",
				   strerror(-r))
		     : 0;
}

/* ---- NVMe ---- */

static int poll_nvme(const struct erase *e, uint32_t limit_ms)
{
	uint8_t log[512];
	for (uint64_t ms = 0; ms < limit_ms; ms += POLL_MS) {
		struct phx_nvme_command c = {.opcode = NVME_GET_LOG_PAGE,
					     .nsid = 0xffffffff,
					     .cdw10 = NVME_LOG_SANITIZE |
						     (sizeof(log) / 4 - 1) << 16,
					     .data = log,
					     .n_data = sizeof(log),
					     .timeout_ms = COMMAND_MS};
		memset(log, 0, sizeof(log));
		int r = e->dev->ops->nvme(e->dev->ctx, &c);
		if (r)
			return phx_err_set(e->err, -EIO,
					   "NVMe sanitize: its progress cannot be read (%d)", r);
		int state = log[2] & 7;
		if (state == 1 || state == 4)
			return 0;
		if (state != 2)
			return phx_err_set(e->err, -EIO, "NVMe sanitize %s",
					   state == 3 ? "failed in the drive"
						      : "was never begun by the drive");
		tell(e, (uint32_t)(log[0] | log[1] << 8), 0x10000);
		e->dev->ops->wait_ms(e->dev->ctx, POLL_MS);
	}
	return phx_err_set(e->err, -ETIMEDOUT, "NVMe sanitize did not end within %u minutes",
			   limit_ms / 60000);
}

/* Status without its "do not retry" and "more" bits. */
static bool is_refusal(int status)
{
	int code = status & 0x7ff;
	return code == NVME_STATUS_OPCODE || code == NVME_STATUS_FIELD;
}

static int nvme_result(const struct erase *e, const char *what, int r)
{
	if (r > 0 && is_refusal(r))
		return REFUSED;
	if (r > 0)
		return phx_err_set(e->err, -EIO, "%s: the drive answers status 0x%x", what,
				   (unsigned)r);
	return r < 0 ? phx_err_set(e->err, r, "%s: %s", what, strerror(-r)) : 0;
}

static int nvme_sanitize(const struct erase *e, enum way way)
{
	/* SANACT; one pass for overwrite (bits 7:4), whose pattern is cdw11 */
	static const uint32_t acts[] = {
		[NVME_BLOCK] = 2, [NVME_CRYPTO] = 4, [NVME_OVERWRITE] = 3 | 1 << 4};
	struct phx_nvme_command c = {
		.opcode = NVME_SANITIZE, .cdw10 = acts[way], .timeout_ms = COMMAND_MS};
	int r = nvme_result(e, "NVMe sanitize", e->dev->ops->nvme(e->dev->ctx, &c));
	return r ? r : poll_nvme(e, way == NVME_OVERWRITE ? SLOW_LIMIT_MS : FAST_LIMIT_MS);
}

static int nvme_format(const struct erase *e, enum way way)
{
	(void)way;
	struct phx_nvme_command c = {.opcode = NVME_FORMAT_NVM,
				     .nsid = e->how->nsid,
				     .cdw10 = e->how->format_flags | NVME_ERASE_USER_DATA,
				     .timeout_ms = FAST_LIMIT_MS};
	return nvme_result(e, "NVMe format", e->dev->ops->nvme(e->dev->ctx, &c));
}

/* ---- choice: best way first ---- */

static const struct {
	const char *name;
	int (*run)(const struct erase *e, enum way way);
} ways[] = {
	[ATA_BLOCK] = {"ATA sanitize, block erase", ata_sanitize},
	[ATA_CRYPTO] = {"ATA sanitize, crypto scramble", ata_sanitize},
	[ATA_OVERWRITE] = {"ATA sanitize, overwrite", ata_sanitize},
	[ATA_ENHANCED] = {"ATA security erase, enhanced", ata_security},
	[ATA_SECURITY] = {"ATA security erase", ata_security},
	[NVME_BLOCK] = {"NVMe sanitize, block erase", nvme_sanitize},
	[NVME_CRYPTO] = {"NVMe sanitize, crypto erase", nvme_sanitize},
	[NVME_FORMAT] = {"NVMe format, user data erase", nvme_format},
	[NVME_OVERWRITE] = {"NVMe sanitize, overwrite", nvme_sanitize},
};

static uint32_t way_if(bool has, enum way way)
{
	return has ? 1u << way : 0;
}

static int plan_ata(const struct phx_device *dev, struct phx_secure *ret, struct phx_err *err)
{
	struct phx_ata_identity id;
	int r = phx_ata_identify(dev, &id, err);
	if (r < 0)
		return r;
	ret->ways = way_if(id.sanitize_block, ATA_BLOCK) | way_if(id.sanitize_crypto, ATA_CRYPTO) |
		way_if(id.sanitize_overwrite, ATA_OVERWRITE) |
		way_if(id.security && !id.frozen && id.enhanced, ATA_ENHANCED) |
		way_if(id.security && !id.frozen, ATA_SECURITY);
	ret->erase_minutes = id.erase_minutes;
	if (!ret->ways && id.security && id.frozen)
		return phx_err_set(err, -EOPNOTSUPP,
				   "the firmware froze the drive's security commands; only a power "
				   "cycle of the drive "
				   "ends that");
	return 0;
}

static int plan_nvme(const struct phx_device *dev, struct phx_secure *ret, struct phx_err *err)
{
	struct phx_nvme_identity id;
	int r = phx_nvme_identify(dev, &id, err);
	if (r < 0)
		return r;
	bool alone = id.n_namespaces <= 1;
	ret->ways = way_if(alone && id.sanitize_block, NVME_BLOCK) |
		way_if(alone && id.sanitize_crypto, NVME_CRYPTO) |
		way_if(id.format && (alone || !id.format_is_global), NVME_FORMAT) |
		way_if(alone && id.sanitize_overwrite, NVME_OVERWRITE);
	ret->nsid = id.nsid;
	ret->format_flags = id.format_flags;
	if (!ret->ways && !alone)
		return phx_err_set(
			err, -EOPNOTSUPP,
			"erasing this namespace would erase the other %u of its controller as well",
			id.n_namespaces - 1);
	return 0;
}

int phx_secure_plan(const struct phx_device *dev, const char *bus, struct phx_secure *ret,
		    struct phx_err *err)
{
	struct phx_secure how = {0};
	int r = 0;
	if (phx_str_eq(bus, "ata"))
		r = plan_ata(dev, &how, err);
	else if (phx_str_eq(bus, "nvme"))
		r = plan_nvme(dev, &how, err);
	if (r < 0)
		return r;
	if (!how.ways)
		return phx_err_set(err, -EOPNOTSUPP, "the drive (%s) offers no erase command",
				   *bus ? bus : "no bus");
	*ret = how;
	return 0;
}

int phx_secure_erase(const struct phx_device *dev, struct phx_secure *how, uint64_t size_bytes,
		     phx_block_step_fn step, void *arg, struct phx_err *err)
{
	struct erase e = {dev, how, size_bytes, step, arg, err};
	for (enum way w = 0; w < PHX_ARRAY_SIZE(ways); w++) {
		if (!(how->ways & 1u << w))
			continue;
		how->way = w;
		int r = ways[w].run(&e, w);
		if (r == 0)
			tell(&e, 1, 1);
		if (r != REFUSED)
			return r;
	}
	return phx_err_set(err, -EIO,
			   "the drive refused every erase command that it claims to know");
}

const char *phx_secure_name(const struct phx_secure *how)
{
	return ways[how->way].name;
}
