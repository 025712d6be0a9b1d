/* See pool_json.h. Called by the API of the time-line, and by lib/past. */
#include "series/pool_json.h"

json_t *phx_series_pool_json(const char *pool)
{
	json_t *values = json_object(), *most = json_object();
	for (size_t i = 0; i < PHX_SERIES_QUANTITIES; i++) {
		const struct phx_series_quantity *q = &phx_series_quantities[i];
		json_object_set_new(values, q->name, json_array());
		if (q->lasts)
			json_object_set_new(most, q->name, json_array());
	}
	return json_pack("{s:s,s:[],s:[],s:o,s:o}", "pool", pool, "at_ms", "covered_ms", "values",
			 values, "most", most);
}

static void put(json_t *pool, const char *group, const char *name, size_t at, json_t *value)
{
	json_array_insert_new(json_object_get(json_object_get(pool, group), name), at, value);
}

void phx_series_pool_put(json_t *pool, size_t at, const struct phx_series_row *row)
{
	json_array_insert_new(json_object_get(pool, "at_ms"), at, json_integer(row->at_ms));
	json_array_insert_new(json_object_get(pool, "covered_ms"), at,
			      json_integer(row->covered_ms));
	for (int i = 0; i < PHX_SERIES_QUANTITIES; i++) {
		const struct phx_series_quantity *q = &phx_series_quantities[i];
		double value = phx_series_value(row, (enum phx_series_quantity_id)i);
		put(pool, "values", q->name, at,
		    value < 0          ? json_null()
			    : q->lasts ? json_real(value)
				       : json_integer(row->sum[i]));
		if (q->lasts)
			put(pool, "most", q->name, at, json_integer(row->most[i]));
	}
}
