/* Series of pools as JSON, as GET /v1/timeline has them: {pool, at_ms: [], covered_ms: [],
 * values: {NAME: []}, most: {NAME: []}}. */
#ifndef PHX_SERIES_POOL_JSON_H
#define PHX_SERIES_POOL_JSON_H

#include <jansson.h>

#include "series/series.h"

/** A pool without rows: a new reference. NULL: -ENOMEM. */
json_t *phx_series_pool_json(const char *pool);
/** Puts a row at that place among those that are there. */
void phx_series_pool_put(json_t *pool, size_t at, const struct phx_series_row *row);

#endif
