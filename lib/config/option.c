/* The rows of the options of phoenix.conf: see config.h. Called by the files of this room and by
 * who prints the manual. */
#include "config/option.h"

static const char *const dhcp_modes[] = {"dhcp", "proxy", "none"};
const struct phx_enum phx_dhcp_mode_names = {"DHCP mode", dhcp_modes, PHX_ARRAY_SIZE(dhcp_modes)};

static const char *const tftp_modes[] = {"in.tftpd", "dnsmasq", "none"};
const struct phx_enum phx_tftp_mode_names = {"TFTP server", tftp_modes, PHX_ARRAY_SIZE(tftp_modes)};

static const struct phx_field fields[] = {PHX_CONFIG_FIELDS(PHX_ROW_, phx_config)};
const struct phx_record phx_options_record = {
	.size = sizeof(struct phx_config), .fields = fields, .n_fields = PHX_ARRAY_SIZE(fields)};

const struct phx_field *phx_option(enum phx_option_id id)
{
	return &fields[id];
}
