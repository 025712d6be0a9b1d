// A value that pages watch: who sets it tells all who show it.
import { useEffect, useState } from 'preact/hooks';

export class Subject {
	#watchers = new Set();

	constructor(value) {
		this.value = value;
	}

	set(value) {
		this.value = value;
		for (const tell of this.#watchers)
			tell(value);
	}

	watch(tell) {
		this.#watchers.add(tell);
		return () => this.#watchers.delete(tell);
	}
}

export function useSubject(subject) {
	const [value, setValue] = useState(subject.value);
	useEffect(() => {
		setValue(() => subject.value); // it may have changed before we watched
		return subject.watch((v) => setValue(() => v));
	}, [subject]);
	return value;
}
