import { AsyncResource } from 'node:async_hooks';
import { Observable, Subscriber, type Observer, type Operator, type Subscription } from 'rxjs';

/**
 * An observable whose listeners may throw. RxJS would throw such an error again from a timer, which ends the process.
 * Here `report` gets it, and the subscription continues, behind operators too. A listener runs in the async context in
 * which it subscribed.
 */
export class SafeObservable<Value> extends Observable<Value> {
  /** @internal */
  constructor(
    /** @internal */
    protected readonly report: (error: unknown) => void,
    subscribe?: (subscriber: Subscriber<Value>) => (() => void) | void,
  ) {
    super(subscribe);
  }

  /** @internal */
  override lift<Other>(operator?: Operator<Value, Other>): Observable<Other> {
    const lifted = new SafeObservable<Other>(this.report);
    lifted.source = this;
    lifted.operator = operator as Operator<unknown, Other>;
    return lifted;
  }

  /** Subscribes like any Observable. Errors of the listener are reported. */
  override subscribe(
    listener?: ((value: Value) => void) | Partial<Observer<Value>> | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    if (listener instanceof Subscriber) {
      return super.subscribe(listener); // an operator's own listener, which passes on what it catches
    }
    const observer: Partial<Observer<Value>> =
      typeof listener === 'object' && listener !== null
        ? listener
        : { next: listener ?? undefined, error: error ?? undefined, complete: complete ?? undefined };
    const guard = AsyncResource.bind((call: () => void): void => {
      try {
        call();
      } catch (thrown) {
        this.report(thrown);
      }
    });
    return super.subscribe({
      next: (value) => guard(() => observer.next?.(value)),
      error: (failure: unknown) => guard(() => (observer.error ? observer.error(failure) : this.report(failure))),
      complete: () => guard(() => observer.complete?.()),
    });
  }
}
