// Where one is: the part of the address behind #, so that back, reload and bookmarks do what they should.
import { Subject } from './subject.js';

// what is no escape stands for itself
function decoded(part) {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

// as the address says it, also before those who look at `route` have been told
export function whereNow() {
	const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
	const [page = '', item = ''] = path.split('/').map(decoded);
	return { page, item, query: new URLSearchParams(query ?? '') };
}

export const route = new Subject(whereNow());
addEventListener('hashchange', () => route.set(whereNow()));

export const address = (page, item) => `#/${page}${item ? `/${encodeURIComponent(item)}` : ''}`;
export const go = (page, item) => {
	location.hash = address(page, item);
};
