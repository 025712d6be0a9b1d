// The list of runtime environments for a page that shows it: begun with the page, ended with it.
import { useEffect, useMemo } from 'preact/hooks';
import { ReList } from './re_list.js';
import { useSubject } from './subject.js';

export function useRes() {
	const list = useMemo(() => new ReList(), []);
	useEffect(() => {
		list.run();
		return () => list.stop();
	}, [list]);
	return { list, all: useSubject(list.all), error: useSubject(list.error) };
}
