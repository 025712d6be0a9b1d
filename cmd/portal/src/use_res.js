// The runtime environments that who is signed in may see, and what was refused ({ res, refused }, null until it was read), for a page that
// shows them: begun with the page, ended with it.
import { useEffect, useMemo } from 'preact/hooks';
import { Follow } from './follow.js';
import { scope } from './session.js';
import { useSubject } from './subject.js';

const LOOK_S = 10;

async function read(ask) {
	const { res, refused = [] } = await ask('/v1/res');
	return { res, refused };
}

// Nodes that come and go, jobs, orders: each changes what is told of an RE. Of an RE's end only the resource provider is told, for then it is
// nobody's: who is not he looks now and then.
const lookS = () => (scope('events') === 'all' ? Infinity : LOOK_S);

export function useRes() {
	const list = useMemo(() => new Follow(read, () => true, lookS), []);
	useEffect(() => {
		list.run();
		return () => list.stop();
	}, [list]);
	return { list, all: useSubject(list.value), error: useSubject(list.error) };
}
