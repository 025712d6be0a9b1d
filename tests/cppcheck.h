/* Told to cppcheck (make lint), which does not read jansson's header: its loops. */
#define json_array_foreach(array, i, v) for (i = 0; (v = json_array_get(array, i)); i++)
#define json_object_foreach(object, k, v) \
	for (k = first_key(object); (v = json_object_get(object, k)); k = next_key(object))
